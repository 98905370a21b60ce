from blocklib import Text, show
from blocklib.lab.corpus import about

corpus = about()
package = f"{corpus['package']} {corpus['version']}"
show.table((Text("项", "item"), Text("内容", "content")), [
    (Text("标题", "title"), corpus["title"]),
    (corpus["registry"], package),
    (Text("取哪些文件", "files"), corpus["files"]),
    (Text("许可", "licence"), corpus["licence"]),
    (Text("声明", "notice"), corpus["notice"]),
    ("sha256", corpus["sha256"]),
])

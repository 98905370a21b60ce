from blocklib import Text, atlas, show

names = ("gpt2-small", "llama-2-7b", "llama-3-8b", "qwen3.8-27b")
head = (
    Text("模型", "model"),
    Text("进出的宽度", "width at the doors"),
    Text("query 总宽", "all query heads"),
    Text("FFN 中间", "inside the FFN"),
)
rows = []
for name in names:
    model = atlas.load(name)
    shape = model.config
    widths = (shape.d_model, shape.query_width, shape.d_ff)
    rows.append((model.name, *(f"{width:,}" for width in widths)))
show.table(head, rows)

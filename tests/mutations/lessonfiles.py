"""A lesson of the small project in which mistakes are planted: each kind of cell once, on lines of its own."""

from __future__ import annotations

LESSON = "docs/lab/plot.py"
NAMES = (
    "raises", "warns", "exits", "leaves", "broken", "draws", "shows", "address", "drawn", "escapes", "writes", "threads",
)  # fmt: skip
CELLS = "".join(f'\n# %%\nprint("{name}")\n' for name in NAMES)
FILES = {
    LESSON: f"""\
# ---
# title.zh: 一课
# title.en: A lesson
# description.zh: 试一试。
# description.en: A try.
# ---

# %% [markdown] lang="zh"
# # 一课 {{ #lesson }}
#
# 导语在这里，[256](fact:implicit_paths?blocks=8) 条。

# %% [markdown] lang="en"
# # A lesson {{ #lesson }}
#
# The lead is here, [256](fact:implicit_paths?blocks=8) of them.
{CELLS}
# %% [markdown] lang="zh"
# 中间的一句。

# %% [markdown] lang="en"
# A sentence between.

# %%
from blocklib import Text, show

show.markdown("[128 KiB](fact:kv_bytes_per_token?model=llama-3-8b&dtype=bf16)")

# %% [markdown] lang="zh"
# ## 末节 {{ #last }}
#
# 收尾一句。

# %% [markdown] lang="en"
# ## The last {{ #last }}
#
# It ends here.

# %%
show(Text("完", "the end"))

# %% [markdown] lang="zh"
# 图在后面。

# %% [markdown] lang="en"
# A picture follows.
"""
}

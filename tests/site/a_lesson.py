"""A small lesson for tests."""

from __future__ import annotations

PATH = "docs/lab/first.py"
LESSON = '''\
# ---
# title.zh: 一课
# title.en: A lesson
# description.zh: 试一试。
# description.en: A try.
# ---

# %% [markdown] lang="zh"
# # 一课 { #first }
#
# 导语，[256](fact:implicit_paths?blocks=8) 条。
# { .tl-standfirst }

# %% [markdown] lang="en"
# # A lesson { #first }
#
# A lead, [256](fact:implicit_paths?blocks=8) of them.
# { .tl-standfirst }

# %%
from blocklib import Text, show

counted = 2**8  # 数出来的 | counted
counted

# %% [markdown] lang="zh"
# ## 再来 { #again }
#
# ```python
# # %% 不是格子
# ```

# %% [markdown] lang="en"
# ## Again { #again }
#
# ```python
# # %% no cell
# ```

# %%
def half(n):
    """Half of ``n``, with a fence in it: ```."""
    return n // 2


show(Text("一半", "half"), half(counted))
'''

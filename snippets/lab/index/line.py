from blocklib import Text, show
from blocklib.lab import summary

rows = [(step, str(found["on"]), str(found["left"]))
        for step, found in summary.load()["line"].items()]
show.table((Text("步", "step"),
            Text("还在线上", "still on the line"),
            Text("后来离开的", "left it later")), rows)

"""``python -m blocklib``: the command line."""

from blocklib.cli import main

raise SystemExit(main())

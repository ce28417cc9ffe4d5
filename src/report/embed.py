#!/usr/bin/env python3
"""Writes the templates of pages as C: embed.py FOLDER OUT

FOLDER has NAME.html for each page, as scripts/pages makes them. One that is not there has size 0. OUT is only written if
it changes.
"""

import gzip
import pathlib
import sys

# In the order of enum sxt_page_kind.
PAGES = ["size", "profile", "heap", "symbols", "service", "live"]


def main():
    folder, out = map(pathlib.Path, sys.argv[1:])
    lines = ['/* Made from web/. */', '#include "report/templates.h"', ""]
    entries = []
    for name in PAGES:
        path = folder / (name + ".html")
        if path.is_file():
            packed = gzip.compress(path.read_bytes(), 9, mtime=0)
            lines += [f"static const unsigned char {name}[] = {{", ",".join(map(str, packed)), "};", ""]
            entries.append(f"{{{name}, sizeof {name}}}")
        else:
            entries.append("{0, 0}")
    lines += ["const struct sxt_page_template sxt_page_templates[SXT_PAGE_KINDS] = {", ",\n".join(entries), "};", ""]
    text = "\n".join(lines)
    if not out.is_file() or out.read_text(encoding="ascii") != text:
        out.write_text(text, encoding="ascii")


main()

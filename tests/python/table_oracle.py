"""Tables read by us and by Python's csv module, and ours read back."""

import csv
import random
import re

from oracle import ask, check, done, path

random.seed(3)
PIECES = ["a", "12.5", "n/a", "", " ", '"', '""', ",", "\t", "\n", "\r\n", "é", "&", "-", "x y",
          "123456789012345678", "5\" tall", "'"]


def cell():
    return "".join(random.choice(PIECES) for _ in range(random.randrange(4)))


NUMBER = re.compile(r"[ \t\r\n]*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t\r\n]*")


def with_points(table):
    """The table with decimal points, if it has decimal commas and no decimal point."""
    cells = [c for row in table[1:] for c in row]
    if any("." in c and NUMBER.fullmatch(c) for c in cells):
        return table
    return table[:1] + [[c.replace(",", ".", 1) if re.search(r"^[^,]*,\d", c) and NUMBER.fullmatch(c.replace(",", ".", 1)) else c
                         for c in row] for row in table[1:]]


def lines_of(file, separator):
    """Line on which each row starts, as the csv module counts."""
    with open(file, newline="", encoding="utf-8-sig") as f:
        reader = csv.reader(f, delimiter=separator, strict=True)
        starts, before = [], 0
        for _ in reader:
            starts.append(before + 1)
            before = reader.line_num
    return starts


for ending, separator in ((".csv", ","), (".tsv", "\t")):
    for trial in range(300):
        cols, rows = random.randrange(1, 6), random.randrange(1, 8)
        names = [f"{random.choice(['age', 'a & b', 'lh-x'])}_{j}" for j in range(cols)]
        if cols > 1 and trial % 5 == 0:
            names[0] = ""
        table = [names] + [[cell() for _ in range(cols)] for _ in range(rows)]
        for row in table:  # a row of one empty cell is a blank line
            if row == [""]:
                row[0] = "x"
        end = random.choice(["\n", "\r\n"])
        quoting = random.choice([csv.QUOTE_ALL, csv.QUOTE_MINIMAL])
        with open(path("t" + ending), "w", newline="", encoding="utf-8") as f:
            if trial % 3 == 0:
                f.write("\ufeff")
            csv.writer(f, delimiter=separator, lineterminator=end, quoting=quoting).writerows(table)
        while cols > 1 and len(table) > 1 and not "".join(table[-1]).strip(" \t\r\n"):
            table.pop()  # empty rows at the end are those of a spreadsheet
        if len(table) == 1:
            continue
        if separator != ",":
            table = with_points(table)
        a = ask("table", path("t" + ending), path("u" + ending))
        check(a["rows"] == table, trial, a["rows"], table)
        starts = lines_of(path("t" + ending), separator)[:len(table)]
        check(a["lines"] == starts, trial, a["lines"], starts)
        with open(path("u" + ending), newline="", encoding="utf-8") as f:
            back = list(csv.reader(f, delimiter=separator, strict=True))
        check(back == table, trial, "written", back, table)

# Large ones are read by pieces.
for ending, separator, quoting, end in [(".csv", ",", csv.QUOTE_MINIMAL, "\n"), (".csv", ",", csv.QUOTE_ALL, "\r\n"),
                                        (".tsv", "\t", csv.QUOTE_NONNUMERIC, "\n")]:
    table = [[f"c{j}" for j in range(60)]]
    for i in range(2500):
        table.append([random.choice([f"p {i}", f"p\n{i}", f'p "{i}"'])] + [random.gauss(0, 1) for _ in range(59)])
    with open(path("large" + ending), "w", newline="", encoding="utf-8") as f:
        csv.writer(f, delimiter=separator, lineterminator=end, quoting=quoting).writerows(table)
    a = ask("table", path("large" + ending))
    check(a["rows"] == [[x if isinstance(x, str) else repr(x) for x in row] for row in table], ending, quoting)
    check(a["lines"] == lines_of(path("large" + ending), separator), ending, quoting, "lines")
done()

"""Tables read by us and by Python's csv module, and ours read back."""

import csv
import random

from oracle import ask, check, done, path

random.seed(3)
PIECES = ["a", "12.5", "n/a", "", " ", '"', '""', ",", "\t", "\n", "\r\n", "é", "&", "-", "x y",
          "123456789012345678", "5\" tall", "'"]


def cell():
    return "".join(random.choice(PIECES) for _ in range(random.randrange(4)))


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
        a = ask("table", path("t" + ending), path("u" + ending))
        check(a["rows"] == table, trial, a["rows"], table)
        starts = lines_of(path("t" + ending), separator)
        check(a["lines"] == starts, trial, a["lines"], starts)
        with open(path("u" + ending), newline="", encoding="utf-8") as f:
            back = list(csv.reader(f, delimiter=separator, strict=True))
        check(back == table, trial, "written", back, table)
done()

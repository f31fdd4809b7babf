"""The table that the Python package calls the library by is that of the header, and the compiler agrees with it:
sizes and places of all fields, values of all enums, and a type for every function that the library shows.

    abi_check.py SOURCE LIBRARY [CC]
"""
import ctypes
import importlib.util
import os
import pathlib
import re
import subprocess
import sys
import tempfile

source, library = pathlib.Path(sys.argv[1]), sys.argv[2]
compiler = sys.argv[3:] or ["cc"]
header, table = source / "include/kronorm.h", source / "python/kronorm/_abi.py"
made = subprocess.run([sys.executable, source / "tools/abi", header], check=True, capture_output=True, text=True).stdout
if made != table.read_text():
    sys.exit("kronorm.h has changed: tools/abi include/kronorm.h > python/kronorm/_abi.py, then look at python/ and r/")

spec = importlib.util.spec_from_file_location("_abi", table)
abi = importlib.util.module_from_spec(spec)
spec.loader.exec_module(abi)
structs = [v for v in vars(abi).values() if isinstance(v, type) and issubclass(v, ctypes.Structure) and hasattr(v, "_fields_")]
enums = {k: v for k, v in vars(abi).items() if re.fullmatch(r"KN_[A-Z0-9_]+", k)}
expected = {f"sizeof({s.__name__})": ctypes.sizeof(s) for s in structs}
expected |= {f"offsetof({s.__name__}, {f[0]})": getattr(s, f[0]).offset for s in structs for f in s._fields_}
expected |= {f"sizeof((({s.__name__} *)0)->{f[0]})": getattr(s, f[0]).size for s in structs for f in s._fields_}
expected |= enums
program = '#include <stdio.h>\n#include "kronorm.h"\nint main(void) {\n' + "".join(
    f'printf("%ld\\n", (long)({what}));\n' for what in expected) + "}\n"
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "abi.c")
    pathlib.Path(path).write_text(program)
    subprocess.run([*compiler, f"-I{source}/include", "-o", path[:-2], path], check=True)
    found = subprocess.run([path[:-2]], check=True, capture_output=True, text=True).stdout.split()
wrong = [f"{what}: the table has {value}, the compiler {got}" for (what, value), got in zip(expected.items(), found)
         if value != int(got)]
shown = subprocess.run(["nm", "-D", "--defined-only", library], check=True, capture_output=True, text=True).stdout
functions = {name.split("@")[0] for name in re.findall(r" T (kn_\w+\S*)", shown)}
wrong += [f"{name}: in the table or in the library alone" for name in sorted(functions ^ set(abi.FUNCTIONS))]
if wrong or len(found) != len(expected):
    sys.exit("\n".join(wrong) or "the program said too little")
print(f"{len(structs)} structs, {len(enums)} values and {len(functions)} functions as the compiler has them")

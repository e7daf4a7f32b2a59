from tools import command
from tools.opinfo.report import main

command(main)

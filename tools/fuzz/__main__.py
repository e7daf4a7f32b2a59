from tools import command
from tools.fuzz.command import main

command(main)

from tools import command
from tools.conformance.command import main

command(main)

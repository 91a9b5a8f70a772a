"""on_terminal.py COLUMNS COMMAND...: runs the command on a terminal and prints what is left on it, then how many times a
line was written over, the most columns that such a line took, and the first of them."""

import fcntl
import os
import pty
import re
import struct
import sys
import termios


def main():
    columns, command = int(sys.argv[1]), sys.argv[2:]
    process, terminal = pty.fork()
    if process == 0:
        fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.execvp(command[0], command)
    written = b""
    try:
        while piece := os.read(terminal, 1 << 16):
            written += piece
    except OSError:  # the terminal's other end is closed
        pass
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    text = written.decode().replace("\r\n", "\n")
    for line in text.split("\n"):
        print(re.split(r"\r\x1b\[K", line)[-1])
    print("written over:", text.count("\r\x1b[K"))
    live = [part for line in text.split("\n") for part in re.split(r"\r\x1b\[K", line)[:-1]]
    print("columns:", max(map(len, live), default=0))
    print("live:", next(filter(None, live), ""))
    sys.exit(status)


main()

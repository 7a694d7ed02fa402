"""Checks an echo server (examples/c/echo) from outside: clients.py COMMAND [ARGUMENT]..., which gets a path and a time besides.

400 clients, large and small messages, clients that leave in any way, idle ones, a full table of descriptors, a stale socket, SIGTERM.
Waits are for conditions, a minute at the most; of times only "not before" is checked."""

import os
import pathlib
import resource
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time

CLIENTS, TIME_OUT, LONG, SHORT = 400, 60, 600_000, 600  # ms of idleness
command = sys.argv[1:]


def require(holds, what):
    if not holds:
        raise AssertionError(what)


def wait_until(holds, what):
    end = time.monotonic() + TIME_OUT
    while not holds():
        require(time.monotonic() < end, f"not within {TIME_OUT} s: {what}")
        time.sleep(0.005)


class Server:
    started = []

    def __init__(self, path, idle, descriptors=None):
        self.path, self.connected = path, 0
        limit = descriptors and (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors)))
        self.process = subprocess.Popen([*command, path, str(idle)], stdout=subprocess.PIPE, text=True, preexec_fn=limit)
        Server.started.append(self.process)
        line = self.process.stdout.readline()
        require(line == f"echo: listening at {path}\n", f"it listens: {line!r}")

    def connect(self):
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(TIME_OUT)
        client.connect(self.path)
        self.connected += 1
        return client

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def seconds(self):  # of processor time
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def end(self, signal_number):
        self.process.send_signal(signal_number)
        last = self.process.stdout.read()
        status = self.process.wait(TIME_OUT)
        require(status == 0, f"it ends with status 0, not {status}")
        require(last == f"echo: served {self.connected} clients\n", f"it served {self.connected} clients: {last!r}")
        require(not os.path.exists(self.path), "the socket is unlinked")


def read_all(client, size):
    data = bytearray()
    while len(data) < size and (more := client.recv(1 << 16)):
        data += more
    return bytes(data)


def is_closed(client):
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def exchange(clients, messages):
    """Sends each client's message, and reads its echo, all at a time: more than the sockets hold is on the way."""
    selector, left, got = selectors.DefaultSelector(), dict(messages), {client: bytearray() for client in clients}
    for client in clients:
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ | selectors.EVENT_WRITE)
    while selector.get_map():
        ready = selector.select(TIME_OUT)
        require(ready, "the echo continues")
        for key, events in ready:
            client = key.fileobj
            if events & selectors.EVENT_WRITE:
                left[client] = left[client][client.send(left[client][:1 << 16]):]
                if not left[client]:
                    selector.modify(client, selectors.EVENT_READ)
            if events & selectors.EVENT_READ:
                data = client.recv(1 << 16)
                require(data, "an active client stays connected")
                got[client] += data
                if len(got[client]) == len(messages[client]):
                    selector.unregister(client)
    for client in clients:
        client.settimeout(TIME_OUT)
        require(got[client] == messages[client], "the echo is what was sent")


def many(path):
    server = Server(path, LONG)
    before = server.descriptors()
    clients = [server.connect() for _ in range(CLIENTS)]
    exchange(clients, {client: bytes([i % 251]) * (1 + i * i % 700) for i, client in enumerate(clients)})
    exchange(clients[:4], {client: os.urandom(1_000_000) for client in clients[:4]})

    # Clients close: after a half-close, whose echo is complete, or with data on the way.
    clients[0].sendall(b"last words")
    clients[0].shutdown(socket.SHUT_WR)
    require(read_all(clients[0], 100) == b"last words", "a half-closed client gets its echo, and then the end")
    for client in clients[1:4]:
        client.setblocking(False)
        try:
            while True:
                client.send(bytes(100_000))
        except BlockingIOError:
            pass  # it is full: the server waits until it can write
    for client in clients[:200]:
        client.close()
    wait_until(lambda: server.descriptors() == before + 200, "the descriptors of closed clients are closed")
    exchange(clients[200:], {client: b"still there" for client in clients[200:]})

    # A second server says that there is one, and leaves its socket alone.
    second = subprocess.run([*command, path], capture_output=True, text=True, timeout=TIME_OUT)
    require(second.returncode == 1 and "Address already in use" in second.stderr, f"a second one is refused: {second}")
    server.connected += 1  # a connection that only tests for a listener
    exchange(clients[200:], {client: b"still there" for client in clients[200:]})
    server.end(signal.SIGTERM)
    require(all(is_closed(client) for client in clients[200:]), "the end disconnects all clients")


def idle(path):
    server = Server(path, SHORT)
    before = server.descriptors()
    start = time.monotonic()
    last_sent = start
    silent, active = [server.connect() for _ in range(50)], server.connect()
    for client in silent:
        client.sendall(b"x")
    require(all(client.recv(1) == b"x" for client in silent), "all are served once")
    while server.descriptors() > before + 1:
        require(time.monotonic() < start + TIME_OUT, "idle clients are disconnected")
        sent = time.monotonic()
        try:
            active.sendall(b"x")
            is_open = active.recv(1) == b"x"
        except (BrokenPipeError, ConnectionResetError):
            is_open = False
        if not is_open:  # right if this process did not run for so long
            require(sent - last_sent >= SHORT / 1000, "an active client stays connected")
            active = server.connect()
        last_sent = sent
        time.sleep(0.02)
    require(time.monotonic() - start >= SHORT / 1000, "no client is disconnected early")
    require(all(is_closed(client) for client in silent), "idle clients see the end")
    wait_until(lambda: server.descriptors() == before, "a client that is idle later is disconnected, too")

    # A server that was stopped for a while does not close clients that wrote meanwhile.
    late = server.connect()
    late.sendall(b"a")
    require(late.recv(1) == b"a", "it is served")
    server.process.send_signal(signal.SIGSTOP)
    late.sendall(b"b")
    time.sleep(SHORT / 1000 * 1.3)
    server.process.send_signal(signal.SIGCONT)
    require(late.recv(1) == b"b", "it is not hung up on")
    server.end(signal.SIGINT)


def full(path):
    """More clients than descriptors: waiting clients are served when others leave. Meanwhile the processor is idle."""
    server = Server(path, LONG, descriptors=40)
    clients = [server.connect() for _ in range(60)]
    wait_until(lambda: server.descriptors() == 40, "the table is full")
    before = server.seconds()
    time.sleep(1)
    require(server.seconds() - before < 0.1, "it does not spin")
    for client in clients[:30]:
        client.close()
    exchange(clients[30:], {client: b"at last" for client in clients[30:]})
    server.end(signal.SIGTERM)


def stale(path):
    server = Server(path, LONG)
    server.process.kill()
    server.process.wait()
    require(os.path.exists(path), "a killed server leaves its socket")
    Server(path, LONG).end(signal.SIGTERM)
    for arguments, words in (([], "usage"), ([path, "0"], "usage"), ([path, "1x"], "usage"), ([path * 20], "at most 107 bytes"),
                             (["/no-such-folder/socket"], "No such file")):
        run = subprocess.run([*command, *arguments], capture_output=True, text=True, timeout=TIME_OUT)
        require(run.returncode == 1 and words in run.stderr, f"{arguments} gives a message: {run}")


with tempfile.TemporaryDirectory() as folder:
    try:
        for check in (many, idle) if "valgrind" in command[0] else (many, idle, full, stale):
            check(f"{folder}/echo")
    finally:
        for process in Server.started:
            process.kill()
print(f"{CLIENTS} clients, idle ones, a full table, a stale socket; ended by SIGTERM")

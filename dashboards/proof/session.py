"""The session that is played while a real Prometheus scrapes: first a healthy part, then everything that goes wrong.

Each step ends with a fact, mostly one that a scrape carries.
"""

import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.request

from stage import Broken, Prometheus, Stranger, insist, wait

PROJECT = "Castle"


def configured(stage, prometheus_folder):
    """The committed configuration and rules, as the README says to use them; only the intervals are a second here."""
    there = stage.folder / "prometheus"
    shutil.copytree(prometheus_folder, there, ignore=shutil.ignore_patterns("targets"))
    slow = {"prometheus.yaml": ["scrape_interval: 15s", "evaluation_interval: 30s"], "recording.yaml": ["interval: 30s"]}
    for name, intervals in slow.items():
        text = (there / name).read_text()
        for interval in intervals:
            insist(interval in text, f"{name} has no {interval}")
            text = text.replace(interval, interval.split(":")[0] + ": 1s")
        (there / name).write_text(text)
    (there / "targets").symlink_to(stage.state / "metrics")
    subprocess.run(["promtool", "check", "config", "prometheus.yaml"], cwd=there, check=True, stdout=subprocess.DEVNULL)
    return there / "prometheus.yaml"


class Session:
    def __init__(self, stage, prometheus_folder):
        self.stage, self.prometheus_folder, self.began = stage, prometheus_folder, time.time()

    def of(self, gateway, metric, condition="> 0", **labels):
        labels = ", ".join(f'{name}="{value}"' for name, value in ({"pid": gateway.pid} | labels).items())
        return f"{metric}{{{labels}}} {condition}"

    def play(self):
        for part in (self.healthy, self.what_clients_do, self.reloads, self.kills, self.strangers, self.stuck, self.shared, self.ends):
            began = time.monotonic()
            part()
            print(f"    {part.__name__.replace('_', ' '):16} {time.monotonic() - began:5.1f} s", flush=True)
        self.ended = time.time()

    def healthy(self):
        self.editor = self.stage.editor(PROJECT)
        project = str(self.stage.folder / PROJECT)
        self.main = self.stage.gateway("main", "--project", project).open()
        # No project: the port is given. The client waits for little more than the margin that the gateway subtracts from its
        # patience.
        self.plain = self.stage.gateway("plain", "--port", str(self.editor.port), "--patience", "6").open()
        self.prometheus = self.stage.keep(Prometheus(self.stage, configured(self.stage, self.prometheus_folder)))
        for gateway in (self.main, self.plain):
            gateway.works()
            gateway.answer(gateway.ask("tools/list"))
            gateway.answer(gateway.ask("ping"))
            self.prometheus.scraped(self.of(gateway, "holdfast_fsm_state", "== 1", machine="bridge", state="ready"))
        # From zero to five between two scrapes: panels over time must show this rise.
        self.prometheus.scraped(self.of(self.main, "holdfast_tool_calls_total", verdict="ok"))
        for _ in range(5):
            self.main.works()
        self.prometheus.scraped(self.of(self.main, "holdfast_tool_calls_total", ">= 6", verdict="ok"))
        # All rules have been evaluated on these samples, and no alert is even pending.
        evaluated = self.prometheus.scraped("job:holdfast_tool_calls:rate5m > 0")
        insist(evaluated, "the recording rules")
        self.was_healthy = time.time()

    def what_clients_do(self):
        main, prometheus = self.main, self.prometheus
        main.expect(main.call("fail"), "{")
        main.expect(main.call("no_such_tool"), "error: ")
        insist("error" in main.answer(main.ask("no/such/method")), "an unknown method")
        main.tell("{ this is no JSON")
        # One call runs and another is held behind it. A scrape shows both, then the running call is cancelled.
        mark = len(self.editor.events)
        running = main.call("hold")
        self.editor.begun(mark, "hold")
        held = main.call("echo", text="held")
        prometheus.scraped(self.of(main, "holdfast_tool_calls_in_flight", "== 1"))
        prometheus.scraped(self.of(main, "holdfast_tool_calls_queued", "== 1"))
        main.note("notifications/cancelled", requestId=running)
        # Lines are handled in order, so when this request is answered the cancel is handled too.
        main.answer(main.ask("ping"))
        self.editor.say("release")
        main.expect(held, "ok: ")
        insist(running not in main.answers, "a cancelled call was answered")
        # A call that outlasts the patience of its client is answered "still running".
        mark = len(self.editor.events)
        long = self.plain.call("hold")
        self.editor.begun(mark, "hold")
        self.plain.expect(long, "Still running: ")
        self.editor.say("release")
        self.plain.works()
        self.editor.say("addtool later")

    def reloads(self):
        main, editor = self.main, self.editor
        mark = len(editor.events)
        running = main.call("hold")
        editor.begun(mark, "hold")
        held = main.call("echo", text="held")
        editor.say("reload 1200")
        main.expect(running, "Outcome unknown: ")
        self.prometheus.scraped(self.of(main, "holdfast_tool_calls_queued", "== 1"))
        main.expect(held, "ok: ")
        self.prometheus.scraped(self.of(main, "holdfast_unity_reloads_total", result="completed"))
        self.prometheus.scraped(self.of(main, "holdfast_unity_recovery_duration_seconds_count"))
        # A read-only call is sent again when its connection ends before it ran.
        editor.say("import 3000")
        mark = len(editor.events)
        reading = main.call("get-logs")
        wait("the call is out", lambda: any(event.get("method") == "get-logs" for event in editor.events[mark:]))
        editor.say("rst")
        editor.say("up")
        main.expect(reading, "ok: ")

    def kills(self):
        main, prometheus = self.main, self.prometheus
        mark = len(self.editor.events)
        running = main.call("hold")
        self.editor.begun(mark, "hold")
        self.editor.kill()
        main.expect(running, "Outcome unknown: ")
        held = main.call("echo", text="held")
        self.editor = self.stage.editor(PROJECT)
        insist(main.text(held).startswith(("ok: ", "Not executed: ")), main.text(held))
        main.works()
        self.editor.tell("quit")
        self.editor.ended()
        prometheus.scraped(self.of(main, "holdfast_fsm_state", "== 0", machine="bridge", state="ready"))
        main.expect(main.call("echo", text="to nobody"), "Not executed: ")
        prometheus.scraped(self.of(main, "holdfast_tool_calls_total", verdict="not_executed", cause="closed"))
        self.editor = self.stage.editor(PROJECT)
        main.works()

    def strangers(self):
        """What is no editor is turned away; a client that does not read; a stderr that takes nothing; a foreign page."""
        stranger = self.stage.keep(Stranger())
        with open("/dev/full", "wb") as full:
            self.deaf = self.stage.gateway("deaf", "--port", str(stranger.port), stderr=full).open()
        for _ in range(4):
            self.deaf.expect(self.deaf.call("echo", text="x"), "Not executed: ")
        self.deaf.reads.clear()
        asked = []

        def stuffed():
            asked.extend(self.deaf.ask("tools/list") for _ in range(20))
            return self.prometheus.query(self.of(self.deaf, "holdfast_stdout_queued_messages"))

        wait("lines that nobody reads", stuffed)
        self.prometheus.scraped('ALERTS{alertname="HoldfastWrongPeer", alertstate="firing"}')
        request = urllib.request.Request(f"http://{self.main.target()}/metrics", headers={"Host": "evil.example"})
        try:
            urllib.request.urlopen(request, timeout=10)
            raise Broken("a foreign name was served")
        except urllib.error.HTTPError as error:
            insist(error.code == 421, error)
        self.deaf.reads.set()
        for number in asked:
            self.deaf.answer(number)

    def stuck(self):
        """An editor that lives and does not listen: calls are held, and the alert about it begins to count."""
        silent = self.stage.editor("Tower", "--dialect", "holdfast")
        silent.say("down")
        self.tower = self.stage.gateway("tower", "--project", str(self.stage.folder / "Tower")).open()
        held = self.tower.call("echo", text="held")
        self.prometheus.scraped('ALERTS{alertname="HoldfastLinkStuck", alertstate="pending", instance="Tower"}')
        silent.say("up")
        self.tower.expect(held, "ok: ")
        # This editor has holdfast's own package: it reports its state, and its journal knows that a reload cut a call.
        self.prometheus.scraped(self.of(self.tower, "holdfast_unity_last_editor_tick_timestamp_seconds"))
        mark = len(silent.events)
        running = self.tower.call("hold")
        silent.begun(mark, "hold")
        silent.say("reload 300")
        self.tower.expect(running, "Outcome unknown: ")
        self.prometheus.scraped(self.of(self.tower, "holdfast_tool_calls_total", verdict="outcome_unknown", cause="interrupted"))

    def shared(self):
        """A hub that a client shares is killed in the middle of a call, and another one follows it."""
        prometheus, editor = self.prometheus, self.editor
        first = self.stage.hub("hub-1")
        prometheus.scraped(self.of(first, "holdfast_hub_starts", "== 1"))
        # A session with metrics of its own is not served by a hub.
        client = self.stage.gateway("shared", "--project", str(self.stage.folder / PROJECT), measured=False).open()
        client.works()
        prometheus.scraped(self.of(first, "holdfast_hub_sessions", "== 1"))
        # The hub's series name the editor, as the record of a gateway of one project does.
        prometheus.scraped(self.of(first, "holdfast_fsm_state", "== 1", machine="bridge", state="ready", project=PROJECT))
        prometheus.scraped(self.of(first, "holdfast_tool_calls_total", verdict="ok", project=PROJECT))
        first.refuses()
        prometheus.scraped(self.of(first, "holdfast_hub_sessions_refused_total", reason="bad_hello"))
        with first.subscribed():
            prometheus.scraped(self.of(first, "holdfast_mcp_requests_in_flight", "== 1"))
        prometheus.scraped(self.of(first, "holdfast_mcp_requests_in_flight", "== 0"))
        try:
            first.subscribed("not the token")
            raise Broken("a wrong token is taken")
        except urllib.error.HTTPError as refused:
            insist(refused.code == 401, refused)
        prometheus.scraped(self.of(first, "holdfast_http_refusals_total", reason="unauthorized"))
        mark = len(editor.events)
        running = client.call("hold")
        editor.begun(mark, "hold")
        named = prometheus.targets()[str(first.pid)]["labels"]
        insist(re.fullmatch("hub-[0-9a-f]{8}", named["instance"]), named)
        # The session would start a successor itself, without metrics, if it were quicker.
        client.child.send_signal(signal.SIGSTOP)
        first.kill()
        self.hub = self.stage.hub("hub-2")
        prometheus.scraped(self.of(self.hub, "holdfast_hub_starts", "== 2"))
        client.child.send_signal(signal.SIGCONT)
        wanted = {"job": "holdfast", "instance": named["instance"], "pid": str(self.hub.pid)}
        insist(prometheus.targets()[str(self.hub.pid)]["labels"] == wanted, "one instance, two pids")
        client.expect(running, "Outcome unknown: ")
        # The hub's end costs this call its outcome, and no other one.
        lost = 'sum(holdfast_tool_calls_total{cause="hub_ended"}) == 1'
        prometheus.scraped(lost)
        editor.say("release")
        client.works()
        client.close()
        insist(prometheus.query(lost), "one lost call")
        prometheus.scraped(self.of(self.hub, "holdfast_hub_sessions", "== 0"))

    def ends(self):
        """How targets come and go."""
        prometheus, plain, main = self.prometheus, self.plain, self.main
        targets = prometheus.targets()
        insist({target["health"] for target in targets.values()} == {"up"}, targets)
        for gateway, project in ((main, PROJECT), (plain, ""), (self.tower, "Tower")):
            labels = targets[str(gateway.pid)]["labels"]
            wanted = {"job": "holdfast", "instance": project or gateway.target(), "pid": str(gateway.pid)}
            wanted |= {"project": project} if project else {}
            insist(labels == wanted, f"{labels} and not {wanted}")
        # Killed: its record stays, its target is down, and the next start of a gateway removes the record.
        self.killed = time.time()
        plain.kill()
        prometheus.scraped(f'up{{pid="{plain.pid}"}} == 0')
        insist(prometheus.targets()[str(plain.pid)]["health"] == "down", "a killed gateway is down")
        insist(plain.record(), "a killed process cannot tidy up")
        copy = self.stage.gateway("copy", "--project", str(self.stage.folder / PROJECT)).open()
        wait("the dead one's target is gone", lambda: str(plain.pid) not in prometheus.targets())
        insist(not plain.record(), "its record is gone")
        # A second gateway for the same project: one instance, two pids.
        copy.works()
        prometheus.scraped(f'count(up{{instance="{PROJECT}"}} == 1) == 2')
        prometheus.scraped(self.of(copy, "holdfast_tool_calls_total", verdict="ok"))
        # A normal end removes the target.
        copy.close()
        insist(not copy.record(), "an end takes the record away")
        wait("its target is gone", lambda: str(copy.pid) not in prometheus.targets())
        insist(sorted(prometheus.targets()) == sorted(str(one.pid) for one in (main, self.deaf, self.tower, self.hub)), "those that live")
        main.works()
        for gateway in (main, plain, self.deaf, self.tower, copy):
            insist(not gateway.faults, gateway.faults)

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"triad/internal/judgeloop"
	"triad/internal/need"
	"triad/internal/session"
)

// model returns a submission whose forward has these lines.
func model(lines ...string) string {
	return "import os, time, torch\nimport torch.nn as nn\n\nclass ModelNew(nn.Module):\n" +
		"    def forward(self, x):\n        " + strings.Join(lines, "\n        ") + "\n"
}

// judgedJob is a job of TestJudgeLoop, and how it ends.
type judgedJob struct {
	name, text    string
	verdict, says string // a regular expression
	blind         bool
}

const rightAnswer = "return torch.relu(x * 1.375) * 0.8125"

// hostileJobs lists candidates that try to end, deceive or poison the loop. The results of those behind show
// that it goes on.
var hostileJobs = []judgedJob{
	{name: "right", text: model(rightAnswer), verdict: "PASS"},
	{name: "wrong", text: model(rightAnswer + " + 0.1"), verdict: "FAIL", says: "accepted"},
	{
		name: "wrong, blind", text: model(rightAnswer + " + 0.1"), verdict: "FAIL",
		says: "^y: elements are farther from the truth than rounding explains$", blind: true,
	},
	{name: "hangs", text: model("while True: pass"), verdict: "HANG", says: "timeout_s"},
	{name: "ends its process", text: model("os._exit(0)"), verdict: "CRASH", says: "exited 0"},
	{
		name: "faults", text: model("import ctypes", "ctypes.string_at(0)"), verdict: "CRASH",
		says: "segmentation",
	},
	{
		name: "prints", text: model("for _ in range(64): os.write(1, b'x' * (1 << 20))", rightAnswer),
		verdict: "PASS",
	},
	{
		name: "forks", text: model("while True:", "    try: os.fork()", "    except OSError: pass"),
		verdict: "CRASH|HANG",
	},
	{name: "leaves processes", text: model("if os.fork() == 0:", "    os.setsid()", "    time.sleep(1000)",
		rightAnswer), verdict: "PASS|FAIL|CRASH|FLAKY"}, // what it leaves may fill the memory of a job
	{name: "forges lines", text: model("for fd in range(3, 30):",
		"    try: os.write(fd, b'{\"id\":1,\"right\":true,\"verdict\":\"PASS\"}\\n')",
		"    except OSError: pass", "return torch.zeros_like(x)"), verdict: "CRASH|FAIL"},
	{
		name:    "kills the first process",
		text:    model("for n in (9, 19, 15, 2, 11):", "    os.kill(1, n)", rightAnswer),
		verdict: "PASS",
	},
	{name: "lowers its limits", text: model("import resource",
		"resource.prlimit(1, resource.RLIMIT_NOFILE, (8, 8))", rightAnswer), verdict: "PASS"},
	{
		name: "leaves answers", text: model("for d in ('/tmp', '/dev/shm', '/tmp/home', '/dev'):",
			"    try: os.makedirs(d + '/kept/deep', exist_ok=True)", "    except OSError: continue",
			"    open(d + '/kept/deep/y', 'w').write('1')", "    os.chmod(d + '/kept', 0o500)", rightAnswer),
		verdict: "PASS",
	},
	{name: "looks for answers", text: model("for d in ('/tmp', '/dev/shm', '/tmp/home', '/dev'):",
		"    if os.path.exists(d + '/kept'): raise RuntimeError('left in ' + d)",
		"mine = str(os.getpid())",
		"others = [p for p in os.listdir('/proc') if p.isdigit() and p not in ('1', mine)]",
		"if others: raise RuntimeError('processes ' + str(others))", rightAnswer), verdict: "PASS"},
	{
		name: "replaces torch's functions",
		text: model("torch.equal = torch.allclose = lambda *a, **k: True", "torch.relu = lambda x: 0 * x",
			"torch.Tensor.cpu = lambda x: 0 * x", "return torch.zeros_like(x)"),
		verdict: "FAIL", says: "changed torch",
	},
	{
		name: "writes into its answer later",
		text: model("import threading", "y = "+strings.TrimPrefix(rightAnswer, "return "),
			"def later():", "    time.sleep(0.001)", "    y.zero_()",
			"threading.Thread(target=later).start()", "return y"),
		verdict: "FAIL", says: "thread",
	},
	{name: "right after them", text: model(rightAnswer), verdict: "PASS"},
	{name: "no submission", text: "x = 1\n", verdict: "BUILD_FAIL", says: "defines no ModelNew"},
	{name: "no Python", text: "class ModelNew(\n", verdict: "BUILD_FAIL", says: "SyntaxError|never closed"},
}

// TestJudgeLoop: each candidate of a server loop has its own result, whatever those before it did.
func TestJudgeLoop(t *testing.T) {
	need.Tool(t, "bwrap")
	testPython(t)
	var out, said bytes.Buffer
	in := jobsOf(t, hostileJobs)
	fmt.Fprintln(in, "no job")
	wrongSizes := strings.NewReplacer(`"id":"right"`, `"id":"sizes","sizes":[{"lines":3}]`)
	fmt.Fprint(in, wrongSizes.Replace(jobsOf(t, hostileJobs[:1]).String()))
	a := newApp(in, &out, &said)
	code := a.execute([]string{"judge", "--stdin", "--lanes", "1", "--device", "cpu", "--offline"})
	if code != session.ExitGood {
		t.Fatalf("exit %d\n%s", code, &said)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != len(hostileJobs)+2 {
		t.Fatalf("%d results for %d lines:\n%s", len(lines), len(hostileJobs)+2, &out)
	}
	var values []string // of the truth, as the result without blind names them
	for i, h := range hostileJobs {
		var r judgeloop.Result
		if err := json.Unmarshal([]byte(lines[i]), &r); err != nil {
			t.Fatal(err)
		}
		is := func(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }
		if string(r.ID) != fmt.Sprintf("%q", h.name) || !is("^("+h.verdict+")$", r.Verdict) ||
			!is(h.says, r.Message) || r.Right != (r.Verdict == "PASS") || r.Error {
			t.Errorf("%s: %s", h.name, lines[i])
		}
		switch number := regexp.MustCompile(`[0-9]+\.[0-9]{3,}`); {
		case h.name == "wrong":
			values = number.FindAllString(r.Message, -1)
		case h.blind:
			rest := strings.Replace(lines[i], fmt.Sprintf(`"seconds":%v`, r.Seconds), "", 1)
			for _, v := range values {
				if strings.Contains(rest, v) {
					t.Errorf("blind, and %s is in %s", v, lines[i])
				}
			}
			if found := number.FindAllString(rest, -1); len(values) == 0 || len(found) > 0 {
				t.Errorf("values %v; blind, and %v in %s", values, found, lines[i])
			}
		case h.name == "right":
			if got := fmt.Sprint(r.Kernels); got != "[aten.mul aten.relu]" || r.Unlisted == "" {
				t.Errorf("it ran %s (%s)", got, r.Unlisted)
			}
		}
	}
	if last := lines[len(hostileJobs)]; !strings.Contains(last, `"error":true`) {
		t.Errorf("a line that is no job: %s", last)
	}
	// a mistake of the job makes its candidate neither right nor wrong
	if last := lines[len(hostileJobs)+1]; !strings.Contains(last, `"error":true`) ||
		!strings.Contains(last, "unknown dim") || strings.Contains(last, "BUILD_FAIL") {
		t.Errorf("a job of sizes that the problem has not: %s", last)
	}
}

// jobsOf returns the lines of jobs.
func jobsOf(t *testing.T, jobs []judgedJob) *bytes.Buffer {
	t.Helper()
	var in bytes.Buffer
	for _, h := range jobs {
		line, err := json.Marshal(map[string]any{
			"id": h.name, "problem": filepath.Join("testdata", "judge", "kernelbench_shifted_relu"),
			"candidate": map[string]string{"text": h.text}, "timeout_s": 8, "blind": h.blind,
		})
		if err != nil {
			t.Fatal(err)
		}
		in.Write(append(line, '\n'))
	}
	return &in
}

// TestJudgeRefuses: what the flags of judge cannot mean is usage, before anything is started.
func TestJudgeRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "name a problem and a candidate",
		"p c --inputs fp32":            "want DTYPE[SIZES]",
		"r.py c.py --inputs fp32[3]":   `have the "name" of a function`,
		"p c --seed -1":                "--seed",
		"p c --level slow":             "quick, default or full",
		"p c --pass none":              "forward, backward or both",
		"p c --timeout 2h":             "timeout_s",
		"--stdin p":                    "each line names",
		"--stdin --inputs fp32[3]":     "each line names",
		"--stdin --lanes -1":           "--lanes -1",
		"r.py:f c.py:f --inputs i64[]": `"low" and "high"`,
	} {
		var out, said bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &said)
		if code := a.execute(append([]string{"judge"}, strings.Fields(args)...)); code != session.ExitUsage ||
			!strings.Contains(said.String(), want) || out.Len() > 0 {
			t.Errorf("judge %s: exit %d, %q, want %q", args, code, &said, want)
		}
	}
}

// TestJudgeWithoutBubblewrap: nothing is judged, and the message says what to do.
func TestJudgeWithoutBubblewrap(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, args := range [][]string{{"judge", "p", "c"}, {"judge", "--stdin"}} {
		var out, said bytes.Buffer
		a := newApp(strings.NewReader(aRightJob), &out, &said)
		if code := a.execute(append(args, "--device", "cpu", "--offline")); code != session.ExitNothing ||
			!strings.Contains(said.String(), "apt install bubblewrap") ||
			!strings.Contains(said.String(), "trust the files with --no-sandbox") || out.Len() > 0 {
			t.Errorf("%v: exit %d, %q, %q", args, code, &said, &out)
		}
	}
}

const aRightJob = `{"problem": "p", "candidate": {"file": "c.py"}}` + "\n"

// TestJudgeOne: one candidate by a reference. Configurations that are meant for --given-sizes are wrong at
// others; with --all every case is judged, and with --blind no message holds a value.
func TestJudgeOne(t *testing.T) {
	need.Covers(t, "", "internal/judgeloop", "cmd/triad/judge", "internal/runsetup",
		"internal/participants", "internal/problem/submissions")
	need.Tool(t, "bwrap")
	testPython(t)
	folder := t.TempDir()
	writeFiles(t, folder, "import torch\n\ndef f(x):\n    return torch.softmax(x, -1)\n\n"+
		"def only100(x):\n    y = torch.zeros_like(x)\n    y[:, :100] = torch.softmax(x, -1)[:, :100]\n"+
		"    return y\n", "f.py")
	for _, c := range []struct {
		args, says string
		code       session.ExitCode
	}{
		{
			"only100 --given-sizes --level quick --timeout 30s --seed 3",
			`"sandbox":"bubblewrap",.*"seed":3,.*"bad":0,`, session.ExitGood,
		},
		{"f --given-sizes --no-sandbox", `"sandbox":"none",.*"bad":0,`, session.ExitGood},
		{
			"only100 --all --blind", `"y: elements are farther .*"good":5,.*"bad":1,"stopped":false`,
			session.ExitBad,
		},
	} {
		words := strings.Fields(c.args)
		args := append([]string{
			"judge", filepath.Join(folder, "f.py:f"), filepath.Join(folder, "f.py:"+words[0]), "--inputs",
			"fp32[8,100]", "--device", "cpu", "--offline",
		}, words[1:]...)
		var out, said bytes.Buffer
		a := newApp(strings.NewReader(""), &out, &said)
		if code := a.execute(args); code != c.code || !regexp.MustCompile(c.says).MatchString(out.String()) {
			t.Errorf("%s: exit %d\n%s%s", c.args, code, &out, &said)
		}
	}
}

package judgeloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// results decodes what Serve wrote.
func results(t *testing.T, text string) (all []Result) {
	t.Helper()
	for line := range strings.Lines(text) {
		var r Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		all = append(all, r)
	}
	return all
}

const aJob = `{"id": "ID", "problem": "p", "candidate": {"text": "x"}}`

// TestServeAnswersEveryLine: there is a result for each line, in the order of the lines, whatever the line is
// and however long its job takes; an internal error is the result of its line.
func TestServeAnswersEveryLine(t *testing.T) {
	lines := []string{
		strings.Replace(aJob, "ID", "slow", 1), "nonsense", "", "[1]", aJob + " more",
		strings.Replace(aJob, "ID", "panics", 1), strings.Repeat("x", mostLine+1),
		`{"problem": "p", "reference": {"text": "x"}}`, strings.Replace(aJob, "ID", "last", 1),
	}
	var out bytes.Buffer
	err := Serve(t.Context(), strings.NewReader(strings.Join(lines, "\n")), &out, 2, true,
		func(_ context.Context, _ int, j *Job) *Result {
			switch string(j.ID) {
			case `"slow"`:
				time.Sleep(50 * time.Millisecond)
			case `"panics"`:
				panic("a mistake")
			}
			return &Result{
				Right: true, Verdict: "PASS", Message: map[bool]string{true: "blind"}[j.Blind],
			}
		})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		`1 "slow" true blind`, "2  false no job", "4  false no job", `5  false something follows`,
		`6 "panics" false internal error`, "7  false more than 16777216 bytes", "8  false either",
		`9 "last" true blind`,
	}
	got := results(t, out.String())
	if len(got) != len(want) {
		t.Fatalf("%d results, want %d:\n%s", len(got), len(want), &out)
	}
	for i, r := range got {
		words := strings.SplitN(want[i], " ", 4)
		text, _ := json.Marshal(r.Line)
		if string(text) != words[0] || !strings.HasPrefix(string(r.ID), words[1]) ||
			r.Right != (words[2] == "true") || r.Error == r.Right || !strings.Contains(r.Message, words[3]) {
			t.Errorf("result %d is %+v, want %q", i, r, want[i])
		}
	}
}

// TestASlowJobHoldsUpNoLane: those behind it are judged while it takes its time.
func TestASlowJobHoldsUpNoLane(t *testing.T) {
	var out bytes.Buffer
	const others = 20
	release := make(chan struct{})
	var done atomic.Int32
	err := Serve(t.Context(), strings.NewReader(strings.Repeat(aJob+"\n", 1+others)), &out, 2, false,
		func(_ context.Context, _ int, _ *Job) *Result {
			switch done.Add(1) {
			case 1:
				select {
				case <-release:
				case <-time.After(10 * time.Second):
					return &Result{Error: true}
				}
			case 1 + others:
				close(release)
			}
			return &Result{Right: true}
		})
	if got := results(t, out.String()); err != nil || len(got) != 1+others || !got[0].Right {
		t.Errorf("%v, %d results:\n%s", err, len(got), &out)
	}
}

// TestServeEnds: a stop ends it although the next line never comes, and so does an output that takes nothing.
func TestServeEnds(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	never, feed := io.Pipe()
	defer feed.Close()
	done := make(chan error, 1)
	go func() {
		done <- Serve(ctx, never, io.Discard, 2, false,
			func(context.Context, int, *Job) *Result { return nil })
	}()
	stop()
	if err := <-done; err != nil {
		t.Errorf("stopped: %v", err)
	}
	err := Serve(t.Context(), strings.NewReader(aJob+"\n"+aJob+"\n"), broken{}, 1, false,
		func(context.Context, int, *Job) *Result { return &Result{} })
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("no output: %v", err)
	}
}

// TestAStopWritesWhatIsDone: results behind a job that is not done are written, and none of that job.
func TestAStopWritesWhatIsDone(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	var began atomic.Int32
	err := Serve(ctx, strings.NewReader(strings.Repeat(aJob+"\n", 3)), &out, 2, false,
		func(ctx context.Context, _ int, _ *Job) *Result {
			switch began.Add(1) {
			case 1: // takes its time
				<-ctx.Done()
				return &Result{Error: true}
			case 3: // the second has a result
				stop()
				return &Result{Error: true}
			}
			return &Result{Right: true}
		})
	if got := results(t, out.String()); err != nil || len(got) != 1 || !got[0].Right {
		t.Errorf("%v, %d results, want the one that was there:\n%s", err, len(got), &out)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// TestJobsAreChecked: each mistake is named.
func TestJobsAreChecked(t *testing.T) {
	candidate := `"candidate": {"file": "c.py", "name": "f"}`
	reference := `"reference": {"file": "r.py", "name": "f"}`
	twice := `{"problem": "p", "sizes": [{"m": 3}], "given_sizes": true, `
	fromTwo := `{"reference": {"file": "r", "name": "f", "files": {"a": ""}}`
	inputs := `, "inputs": [{"shape": [2], "dtype": "fp32"}], ` + candidate + `}`
	both := `{` + reference + `, ` + candidate + `, "inputs": [{"shape": [2], "dtype": `
	for line, want := range map[string]string{
		`{"problem": "p", ` + candidate + `}`:                             "",
		both + `"fp32"}]}`:                                                "",
		both + `"i64", "low": 0, "high": 9}]}`:                            "",
		`{` + candidate + `}`:                                             "either",
		`{"problem": "p", "candidate": {}}`:                               `either a "file" or a "text"`,
		`{"problem": "p", "candidate": {"file":"a","text":"b"}}`:          `either a "file" or a "text"`,
		`{"problem": "p"}`:                                                `a "candidate"`,
		`{"problem": "p", "inputs": [{}], ` + candidate + `}`:             "draws its own",
		`{` + reference + `, ` + candidate + `}`:                          `needs "inputs"`,
		`{"reference": {"text": "x"}, ` + candidate + `, "inputs": [{}]}`: `"name"`,
		both + `"float"}]}`:                                               "fp64, fp32",
		`{` + reference + `, ` + candidate + `, "inputs": [{"shape": [0], "dtype": "i8"}]}`: "at least 1",
		both + `"i64"}]}`:                                                      `"low" and "high"`,
		both + `"fp32", "low": 3, "high": 4}]}`:                                "0 and 1",
		`{"problem": "p", "pass": "sideways", ` + candidate + `}`:              "forward, backward or both",
		`{"problem": "p", "level": "slow", ` + candidate + `}`:                 "quick, default or full",
		`{"problem": "p", "timeout_s": -1, ` + candidate + `}`:                 "timeout_s",
		`{"problem": "p", "candidate": {"file": "c", "name": "f; import os"}}`: "that of a function",
		`{"problem": "p", "candidate": {"file": "c", "files": {"a.cu": ""}}}`:  "",
		`{"problem": "p", "candidate": {"file": "c", "files": {"../a": ""}}}`:  "such as kernel.cu",
		fromTwo + inputs:        "only a candidate",
		twice + candidate + `}`: "either",
		`{"problem": "p", "sizes": [{}], ` + candidate + `}`: "at least one dim",
		`{"problem": "p", "timeout": 3, ` + candidate + `}`:  "unknown field",
	} {
		_, err := ParseJob([]byte(line))
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", line, err, want)
		}
	}
}

// TestProblemTextVariesEqualSizesTogether: the sizes are constants of the text, one for all that are equal.
func TestProblemTextVariesEqualSizesTogether(t *testing.T) {
	low, high := 0.0, 1000.0
	one := 1.0
	text := problemText("def f(*t): pass\n", "f", []Input{
		{Shape: []int64{8, 64}, DType: "fp32"},
		{Shape: []int64{64}, DType: "bf16", Low: &low, High: &one},
		{Shape: []int64{8}, DType: "i64", Low: &low, High: &high},
	})
	for _, want := range []string{
		"size_0 = 8\nsize_1 = 64\n", "torch.randn([size_0, size_1]).to(dtype=torch.float32)",
		"torch.rand([size_1]).to(dtype=torch.bfloat16)",
		"torch.randint(0, 1000, [size_0], dtype=torch.int64)",
		"return f(x0, x1, x2)",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

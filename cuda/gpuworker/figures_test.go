package gpuworker

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"triad"

	"triad/cuda/telemetry"
	"triad/internal/backend"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/stats"
	"triad/internal/tensor"
	"triad/internal/timing"
	"triad/internal/truth"
	"triad/internal/worker"
	"triad/internal/workload"
	"triad/pybridge"
)

//go:embed testdata/paced.cu
var paced []byte

// figureFolder returns the folder for the findings of the tests of figures. They take minutes of a GPU, and
// run only if TRIAD_FIGURES names a folder:
//
//	make figures
//	TRIAD_TEST_GPU=bin TRIAD_FIGURES=. bin/figures.test -test.v -test.run TestFigureSameKernel
func figureFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("TRIAD_FIGURES")
	if folder == "" {
		need.GPU(t, "TRIAD_FIGURES names no folder for figures")
	}
	return folder
}

// leave writes a finding as JSON and prints it on one line.
func leave(t *testing.T, name, line string, finding any) {
	t.Helper()
	text, err := json.MarshalIndent(finding, "", " ")
	if err == nil {
		err = os.WriteFile(filepath.Join(figureFolder(t), "figure-"+name+".json"), append(text, '\n'), 0o644)
	}
	if err != nil {
		t.Error(err)
	}
	fmt.Printf("figure %s: %s\n", name, line)
}

// setting returns a number that an environment variable may change.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// card reads the GPU's clock while something is timed.
type card struct{ *telemetry.GPU }

func (c card) Read() timing.Reading {
	seen := c.GPU.Read()
	return timing.Reading{
		ClockMHz: seen.ClockMHz, PowerW: seen.PowerW, TemperatureC: seen.TemperatureC,
		Throttle: seen.Throttle,
	}
}

// timer returns a runner that times like the product.
func timer(t *testing.T) *timing.Timer {
	gpu := telemetry.Open("", os.Getenv("CUDA_VISIBLE_DEVICES"))
	t.Cleanup(gpu.Close)
	return &timing.Timer{Telemetry: card{gpu}, Plan: timing.Plan{
		Regimes: []timing.Regime{{Cold: true}}, Rounds: 60,
		Budget: 2 * time.Second,
	}}
}

// kernelsOf returns an adapter of the worker with the libraries of a folder.
func kernelsOf(t *testing.T, path, kernels string, limits worker.Limits) *worker.Adapter {
	cache := t.TempDir()
	return closed(t, &worker.Adapter{
		BackendName: "cuda", FamilyNames: []string{"cuda"}, GPU: true,
		Options: worker.Options{Limits: limits},
		Slot:    func(string) string { return "gpu" },
		Command: func(context.Context) (worker.Command, error) {
			return worker.Command{Path: path, Env: os.Environ(), Args: []string{
				"--cache", cache,
				"--kernels", kernels,
			}}, nil
		},
	})
}

func closed(t *testing.T, a *worker.Adapter) *worker.Adapter {
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// rowsOfPython returns the adapter of Triton's and torch's rows, with the user's caches.
func rowsOfPython(t *testing.T, gpu bool) *worker.Adapter {
	t.Helper()
	data, cache := os.Getenv("XDG_DATA_HOME"), os.Getenv("XDG_CACHE_HOME")
	if data == "" {
		data = filepath.Join(os.Getenv("HOME"), ".local", "share")
	}
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	e := &pybridge.Environment{
		Files: triad.Files, DataDir: filepath.Join(data, "triad"), Offline: true,
		GPU: gpu, Log: os.Stderr, Getenv: os.Getenv,
	}
	return closed(t, pybridge.Backend(e, filepath.Join(cache, "triad"), worker.Options{}))
}

// jobOf returns a call of an implementation of a forward on normal data.
func jobOf(t *testing.T, i backend.Implementation, dtype string, dims map[string]int64) backend.Job {
	t.Helper()
	o, err := truth.Get(i.Op)
	if err != nil {
		t.Fatal(err)
	}
	c, err := o.Spec.NewCase(op.Case{Pass: op.Forward, DType: dtype}, dims, nil)
	var inputs []tensor.Tensor
	var outputs []op.TensorType
	if err == nil {
		inputs, err = workload.Inputs(o.Spec, c, 1)
	}
	if err == nil {
		outputs, err = o.Spec.Outputs(c)
	}
	if err != nil {
		t.Fatal(err)
	}
	job := backend.Job{
		Implementation: i, DType: dtype, Contract: i.Contract, Inputs: inputs,
		Outputs: outputs,
	}
	for _, a := range c.Attrs {
		ref := backend.AttrRef{Name: a.Name, Number: a.Number, Text: a.Text}
		for _, s := range o.Spec.Attributes {
			if s.Name == a.Name {
				ref.Type = s.Type
			}
		}
		job.Attrs = append(job.Attrs, ref)
	}
	return job
}

// candidate prepares a call for cold timing; nil if the implementation declines it.
func candidate(t *testing.T, b backend.Backend, job backend.Job) backend.Candidate {
	t.Helper()
	a, outcome, err := b.Measure(t.Context(), backend.MeasureJob{Job: job, Cold: true, GraphNS: 500_000})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Status != op.StatusUnknown {
		t.Logf("%s %s: %v %s", job.Implementation.Op, job.Implementation.Name, outcome.Status,
			outcome.Sentence)
		return nil
	}
	return a
}

// said is one comparison.
type said struct {
	What         string             `json:"what"`
	Rounds       int                `json:"rounds"`
	Ratio        float64            `json:"ratio"`
	Low          float64            `json:"low"`
	High         float64            `json:"high"`
	SpeedVerdict stats.SpeedVerdict `json:"word"`
}

func sayOf(what string, c stats.Comparison) said {
	return said{what, len(c.Ratios), c.Ratio, c.Low, c.High, c.SpeedVerdict}
}

// firstCandidates prepares the first implementation of a family that accepts a forward in bf16, three times,
// except the naive ones, which only serve as explanations.
func firstCandidates(t *testing.T, b backend.Backend, all []backend.Implementation, family string,
	dims map[string]int64,
) (name string, candidates []backend.Candidate) {
	for _, i := range all {
		if !strings.HasPrefix(i.Name, family+"/") || strings.HasSuffix(i.Name, "/naive") ||
			i.Pass != op.Forward || !slices.Contains(i.DTypes, "bf16") {
			continue
		}
		job := jobOf(t, i, "bf16", dims)
		for len(candidates) < 3 {
			one := candidate(t, b, job)
			if one == nil {
				break
			}
			candidates = append(candidates, one)
		}
		if len(candidates) == 3 {
			return i.Name, candidates
		}
	}
	return "", nil
}

// sameKernelCalls lists the calls that TestFigureSameKernel compares with themselves.
var sameKernelCalls = []struct {
	op   string
	dims map[string]int64
}{
	{"softmax", map[string]int64{"rows": 8192, "cols": 4096}},
	{"softmax", map[string]int64{"rows": 4096, "cols": 1024}},
	{"layernorm", map[string]int64{"rows": 8192, "cols": 4096}},
	{"swiglu", map[string]int64{"rows": 8192, "cols": 4096}},
	{"flash_attention", map[string]int64{
		"batch": 2, "heads_q": 16, "heads_kv": 16, "seq_q": 1024,
		"seq_kv": 1024, "head_dim": 128,
	}},
}

// The same call as both candidates is FASTER or SLOWER in at most 1 % of TRIAD_FIGURE_N comparisons, given
// the noise that a third candidate of it shows, as in comparisons of implementations.
func TestFigureSameKernel(t *testing.T) {
	figureFolder(t)
	folder, path, _ := gpuFolder(t)
	r := timer(t)
	backends := []backend.Backend{
		kernelsOf(t, path, filepath.Join(folder, "kernels"), worker.DefaultLimits),
		rowsOfPython(t, true),
	}
	var all [][]backend.Candidate
	var names []string
	for _, c := range sameKernelCalls {
		for _, b := range backends {
			reply, _, err := b.Load(t.Context(), c.op)
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range b.Families() {
				name, candidates := firstCandidates(t, b, reply.Implementations, family, c.dims)
				if name != "" {
					all, names = append(all, candidates),
						append(names, fmt.Sprint(c.op, " ", name, " ", c.dims))
				}
			}
		}
	}
	if len(all) == 0 {
		t.Fatal("nothing could be prepared")
	}
	n := setting("TRIAD_FIGURE_N", 210)
	var found []struct{ Noise, Same said }
	verdicts, bare := map[stats.SpeedVerdict]int{}, map[stats.SpeedVerdict]int{}
	widest := 0.0
	for i := range n {
		candidates := all[i%len(all)]
		noise, same, err := r.Trial(t.Context(), candidates[0], candidates[1], candidates[2])
		if err != nil {
			t.Fatal(err)
		}
		name := names[i%len(all)]
		found = append(found, struct{ Noise, Same said }{sayOf(name, noise), sayOf(name, same)})
		verdicts[same.SpeedVerdict]++
		bare[noise.SpeedVerdict]++
		widest = max(widest, same.Noise())
	}
	wrong := verdicts[stats.Faster] + verdicts[stats.Slower]
	leave(t, "same-kernel",
		fmt.Sprintf("%d A/A comparisons of %d calls: %d FASTER or SLOWER, %d SAME, %d AMBIGUOUS; widest "+
			"interval reaches %.2f %% from 1; of the %d between the first two candidates, for which no "+
			"noise is known, %d FASTER or SLOWER",
			n, len(all), wrong, verdicts[stats.Same], verdicts[stats.Ambiguous], widest*100, n,
			bare[stats.Faster]+bare[stats.Slower]), found)
	if wrong*100 > n {
		t.Errorf("%d of %d comparisons of a call with itself are FASTER or SLOWER", wrong, n)
	}
}

// A planted slowdown of 3 % is found in at least 95 % of TRIAD_FIGURE_N tries: half of them of a call that
// moves 3 % more bytes, half of one that computes 3 % more.
func TestFigureSlowdown(t *testing.T) {
	figureFolder(t)
	folder, path, g := gpuFolder(t)
	r := timer(t)
	a := kernelsOf(t, path, disguised(t, folder, g, "paced.cu", paced), worker.DefaultLimits)
	if _, _, err := a.Load(t.Context(), "softmax"); err != nil {
		t.Fatal(err)
	}
	n := setting("TRIAD_FIGURE_N", 40)
	var all []said
	verdicts, same := map[stats.SpeedVerdict]int{}, map[stats.SpeedVerdict]int{}
	for _, kind := range []string{"streams", "computes"} {
		var candidates []backend.Candidate
		for _, variant := range []string{kind, kind, kind + "_more"} {
			i := backend.Implementation{
				Name: "cuda/" + variant, Op: "softmax", Pass: op.Forward,
				Contract: "fp32",
			}
			one := candidate(t, a, jobOf(t, i, "fp32", map[string]int64{"rows": 1 << 24, "cols": 1}))
			if one == nil {
				t.Fatalf("%s cannot be timed", variant)
			}
			candidates = append(candidates, one)
		}
		for range (n + 1) / 2 {
			twins, slower, err := r.Trial(t.Context(), candidates[0], candidates[1], candidates[2])
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sayOf(kind, slower))
			verdicts[slower.SpeedVerdict]++
			same[twins.SpeedVerdict]++
		}
	}
	tries := len(all)
	leave(t, "slowdown", fmt.Sprintf("3 %% found as SLOWER in %d of %d tries (SAME %d, AMBIGUOUS %d, "+
		"FASTER %d); beside them %d A/A comparisons, %d FASTER or SLOWER",
		verdicts[stats.Slower], tries, verdicts[stats.Same], verdicts[stats.Ambiguous],
		verdicts[stats.Faster], tries,
		same[stats.Faster]+same[stats.Slower]), all)
	if verdicts[stats.Slower]*100 < 95*tries {
		t.Errorf("found in %d of %d tries", verdicts[stats.Slower], tries)
	}
}

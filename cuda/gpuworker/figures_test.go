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
	"sync"
	"testing"
	"time"

	"triad"
	"triad/cuda/telemetry"
	"triad/internal/backend"
	"triad/internal/catalog"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/run"
	"triad/internal/stats"
	"triad/internal/tensor"
	"triad/internal/worker"
	"triad/internal/workload"
	"triad/pybridge"
	"triad/results"
)

//go:embed testdata/paced.cu
var paced []byte

// figureFolder is where the tests of figures leave their findings. They take minutes of a GPU, and run where TRIAD_FIGURES names a folder:
//
//	make figures
//	TRIAD_TEST_GPU=bin TRIAD_FIGURES=. bin/figures.test -test.v -test.run TestFigureSameKernel
func figureFolder(t *testing.T) string {
	t.Helper()
	folder := os.Getenv("TRIAD_FIGURES")
	if folder == "" {
		t.Skip("TRIAD_FIGURES names no folder")
	}
	return folder
}

// leave writes a finding as JSON and prints it in a line.
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

// setting is a number that an environment variable may change.
func setting(name string, usual int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return usual
}

// card reads the GPU's clock while something is timed.
type card struct{ *telemetry.GPU }

func (c card) Read() run.Reading {
	seen := c.GPU.Read()
	return run.Reading{ClockMHz: seen.ClockMHz, PowerW: seen.PowerW, TemperatureC: seen.TemperatureC, Throttle: seen.Throttle}
}

// timer is a runner that times as the product does.
func timer(t *testing.T) (*run.Runner, run.TimingPlan) {
	gpu := telemetry.Open("", os.Getenv("CUDA_VISIBLE_DEVICES"))
	t.Cleanup(gpu.Close)
	return &run.Runner{Telemetry: card{gpu}}, run.TimingPlan{Regimes: []run.Regime{{Cold: true}}, Rounds: 60, Budget: 2 * time.Second}
}

// kernelsOf is an adapter of the worker with the libraries of a folder.
func kernelsOf(t *testing.T, path, kernels string, limits worker.Limits) *worker.Adapter {
	cache := t.TempDir()
	return closed(t, &worker.Adapter{BackendName: "cuda", FamilyNames: []string{"cuda"}, GPU: true, Options: worker.Options{Limits: limits},
		Slot: func(string) string { return "gpu" },
		Command: func(context.Context) (worker.Command, error) {
			return worker.Command{Path: path, Env: os.Environ(), Args: []string{"--cache", cache, "--kernels", kernels}}, nil
		}})
}

func closed(t *testing.T, a *worker.Adapter) *worker.Adapter {
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	})
	return a
}

// rowsOfPython is the adapter of Triton's and torch's rows, with the caches of the user.
func rowsOfPython(t *testing.T) *worker.Adapter {
	t.Helper()
	data, cache := os.Getenv("XDG_DATA_HOME"), os.Getenv("XDG_CACHE_HOME")
	if data == "" {
		data = filepath.Join(os.Getenv("HOME"), ".local", "share")
	}
	if cache == "" {
		cache = filepath.Join(os.Getenv("HOME"), ".cache")
	}
	e := &pybridge.Environment{Files: triad.Files, DataDir: filepath.Join(data, "triad"), Offline: true, GPU: true, Log: os.Stderr, Getenv: os.Getenv}
	return closed(t, pybridge.Backend(e, filepath.Join(cache, "triad"), worker.Options{}))
}

// jobOf is a call of an implementation of a forward on normal data.
func jobOf(t *testing.T, i backend.Implementation, dtype string, dims map[string]int64) backend.Job {
	t.Helper()
	o, err := catalog.Get(i.Op)
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
	job := backend.Job{Implementation: i, DType: dtype, Contract: i.Contract, Inputs: inputs, Outputs: outputs}
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

// arm prepares a call to be timed cold; nil where the implementation declines it.
func arm(t *testing.T, b backend.Backend, job backend.Job) backend.Arm {
	t.Helper()
	a, outcome, err := b.Measure(t.Context(), backend.MeasureJob{Job: job, Cold: true, GraphNS: 500_000})
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Status != op.StatusUnknown {
		t.Logf("%s %s: %v %s", job.Implementation.Op, job.Implementation.Name, outcome.Status, outcome.Sentence)
		return nil
	}
	return a
}

// said is one comparison.
type said struct {
	What   string     `json:"what"`
	Rounds int        `json:"rounds"`
	Ratio  float64    `json:"ratio"`
	Low    float64    `json:"low"`
	High   float64    `json:"high"`
	Word   stats.Word `json:"word"`
}

func sayOf(what string, c stats.Comparison) said {
	return said{what, len(c.Ratios), c.Ratio, c.Low, c.High, c.Word}
}

// firstPair prepares the first implementation of a family that takes a forward in bf16, twice; the naive ones only tell what they are for.
func firstPair(t *testing.T, b backend.Backend, all []backend.Implementation, family string, dims map[string]int64) (name string, pair [2]backend.Arm) {
	for _, i := range all {
		if !strings.HasPrefix(i.Name, family+"/") || strings.HasSuffix(i.Name, "/naive") || i.Pass != op.Forward || !slices.Contains(i.DTypes, "bf16") {
			continue
		}
		job := jobOf(t, i, "bf16", dims)
		if pair[0] = arm(t, b, job); pair[0] == nil {
			continue
		}
		if pair[1] = arm(t, b, job); pair[1] != nil {
			return i.Name, pair
		}
	}
	return "", pair
}

// The same call as both arms is FASTER or SLOWER in at most 1 % of TRIAD_FIGURE_N comparisons.
func TestFigureSameKernel(t *testing.T) {
	figureFolder(t)
	folder, path, _ := gpuFolder(t)
	r, plan := timer(t)
	backends := []backend.Backend{kernelsOf(t, path, filepath.Join(folder, "kernels"), worker.DefaultLimits), rowsOfPython(t)}
	calls := []struct {
		op   string
		dims map[string]int64
	}{
		{"softmax", map[string]int64{"rows": 8192, "cols": 4096}}, {"softmax", map[string]int64{"rows": 4096, "cols": 1024}},
		{"layernorm", map[string]int64{"rows": 8192, "cols": 4096}}, {"swiglu", map[string]int64{"rows": 8192, "cols": 4096}},
		{"flash_attention", map[string]int64{"batch": 2, "heads_q": 16, "heads_kv": 16, "seq_q": 1024, "seq_kv": 1024, "head_dim": 128}},
	}
	var pairs [][2]backend.Arm
	var names []string
	for _, c := range calls {
		for _, b := range backends {
			reply, _, err := b.Load(t.Context(), c.op)
			if err != nil {
				t.Fatal(err)
			}
			for _, family := range b.Families() {
				name, pair := firstPair(t, b, reply.Implementations, family, c.dims)
				if name != "" {
					pairs, names = append(pairs, pair), append(names, fmt.Sprint(c.op, " ", name, " ", c.dims))
				}
			}
		}
	}
	if len(pairs) == 0 {
		t.Fatal("nothing could be prepared")
	}
	n := setting("TRIAD_FIGURE_N", 210)
	var all []said
	words := map[stats.Word]int{}
	widest := 0.0
	for i := range n {
		pair := pairs[i%len(pairs)]
		same, _, err := r.Trial(t.Context(), pair[0], pair[1], nil, plan)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, sayOf(names[i%len(pairs)], same))
		words[same.Word]++
		widest = max(widest, same.Noise())
	}
	wrong := words[stats.Faster] + words[stats.Slower]
	leave(t, "same-kernel", fmt.Sprintf("%d A/A comparisons of %d calls: %d FASTER or SLOWER, %d SAME, %d AMBIGUOUS; widest interval reaches %.2f %% from 1",
		n, len(pairs), wrong, words[stats.Same], words[stats.Ambiguous], widest*100), all)
	if wrong*100 > n {
		t.Errorf("%d of %d comparisons of a call with itself are FASTER or SLOWER", wrong, n)
	}
}

// A planted slowdown of 3 % is found in at least 95 % of TRIAD_FIGURE_N tries, half of them of a call that moves 3 % more bytes and half of one
// that computes 3 % more.
func TestFigureSlowdown(t *testing.T) {
	figureFolder(t)
	folder, path, g := gpuFolder(t)
	r, plan := timer(t)
	a := kernelsOf(t, path, disguised(t, folder, g, "paced.cu", paced), worker.DefaultLimits)
	if _, _, err := a.Load(t.Context(), "softmax"); err != nil {
		t.Fatal(err)
	}
	n := setting("TRIAD_FIGURE_N", 40)
	var all []said
	words, same := map[stats.Word]int{}, map[stats.Word]int{}
	for _, kind := range []string{"streams", "computes"} {
		var arms []backend.Arm
		for _, variant := range []string{kind, kind, kind + "_more"} {
			i := backend.Implementation{Name: "cuda/" + variant, Op: "softmax", Pass: op.Forward, Contract: "fp32"}
			one := arm(t, a, jobOf(t, i, "fp32", map[string]int64{"rows": 1 << 24, "cols": 1}))
			if one == nil {
				t.Fatalf("%s cannot be timed", variant)
			}
			arms = append(arms, one)
		}
		for range (n + 1) / 2 {
			twins, slower, err := r.Trial(t.Context(), arms[0], arms[1], arms[2], plan)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, sayOf(kind, slower))
			words[slower.Word]++
			same[twins.Word]++
		}
	}
	tries := len(all)
	leave(t, "slowdown", fmt.Sprintf("3 %% found as SLOWER in %d of %d tries (SAME %d, AMBIGUOUS %d, FASTER %d); beside them %d A/A comparisons, %d FASTER or SLOWER",
		words[stats.Slower], tries, words[stats.Same], words[stats.Ambiguous], words[stats.Faster], tries, same[stats.Faster]+same[stats.Slower]), all)
	if words[stats.Slower]*100 < 95*tries {
		t.Errorf("found in %d of %d tries", words[stats.Slower], tries)
	}
}

// stored is a recorder over the product's own store.
type stored struct {
	store   *results.Store
	session *results.Session
}

func (s *stored) Plan(items []record.Item, versions record.Toolchain) (err error) {
	s.session, err = s.store.Start(context.Background(), record.Session{Request: "faults", Toolchain: versions}, items)
	return err
}
func (s *stored) Done(record.Item) bool                         { return false }
func (s *stored) Append(r *record.Record) error                 { return s.session.Record(context.Background(), r) }
func (s *stored) AppendDifferences(d []record.Difference) error { return nil }

// Ten illegal addresses, misaligned addresses, traps, infinite loops and demands of more memory than there is, in one sweep through one
// worker: each is recorded as what it is, and beside each the innocent kernel as right.
func TestFigureFaults(t *testing.T) {
	out := figureFolder(t)
	folder, path, g := gpuFolder(t)
	limits := worker.DefaultLimits
	limits.First, limits.CallLeast = 2*time.Second, 2*time.Second
	a := kernelsOf(t, path, disguised(t, folder, g, "faults.cu", faults), limits)
	file := filepath.Join(out, "figure-faults.db")
	store, err := results.Open(t.Context(), file, results.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	softmax, err := catalog.Get("softmax")
	if err != nil {
		t.Fatal(err)
	}
	distributions := []string{"normal", "scaled", "shifted", "integers", "outlier", "low_logits", "late_max", "row_offsets", "ties", "constant"}
	began := time.Now()
	r := &run.Runner{Backends: []backend.Backend{a}, Recorder: &stored{store: store}, Stop: t.Context()}
	result, err := r.Compare(t.Context(), run.Request{Operators: []*catalog.Operator{softmax}, Seed: 1,
		Impls: []string{"cuda/right", "cuda/wild", "cuda/misaligned", "cuda/trap", "cuda/forever", "cuda/greedy"},
		Options: op.Options{Device: "gpu", DTypes: []string{"fp32"}, Passes: []op.Pass{op.Forward}, Dims: map[string]int64{"rows": 5, "cols": 33},
			Distributions: distributions, Layouts: []string{"contiguous"}}})
	if err != nil {
		t.Fatal(err)
	}
	records, _, err := store.List(t.Context(), results.Filter{Limit: -1})
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]map[string]int{}
	for _, x := range records {
		if counts[x.Impl] == nil {
			counts[x.Impl] = map[string]int{}
		}
		counts[x.Impl][x.Status.String()]++
	}
	leave(t, "faults", fmt.Sprintf("%d records in %.0f s: %v", len(records), time.Since(began).Seconds(), counts), counts)
	want := map[string]string{"cuda/wild": "CRASH", "cuda/misaligned": "CRASH", "cuda/trap": "CRASH", "cuda/forever": "HANG", "cuda/greedy": "OOM"}
	for impl, status := range want {
		if counts[impl][status] < len(distributions) {
			t.Errorf("%s: %v, want %d times %s", impl, counts[impl], len(distributions), status)
		}
	}
	innocent := counts["cuda/right"]
	if innocent["PASS"]+innocent["WARN"]+innocent["NO_POWER"] != len(distributions) || len(result.Records) != len(records) {
		t.Errorf("the innocent kernel: %v, and %d of %d records are stored", innocent, len(records), len(result.Records))
	}
}

// tally is a recorder that counts verdicts and keeps those that accuse.
type tally struct {
	mu        *sync.Mutex
	judged    map[string]int // verdicts on outputs of which elements were compared, by family of the implementation
	neutral   int            // records without one: declined, missing
	accused   []string
	sameSeeds map[uint64]bool
}

func (c *tally) Plan([]record.Item, record.Toolchain) error    { return nil }
func (c *tally) Done(record.Item) bool                         { return false }
func (c *tally) AppendDifferences(d []record.Difference) error { return nil }
func (c *tally) Append(r *record.Record) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sameSeeds[r.Seed] = true
	if r.Status.Weight() == op.Bad {
		text, _ := json.Marshal(r)
		c.accused = append(c.accused, string(text))
	}
	compared := false
	for _, v := range r.Outputs {
		if v.NCompared > 0 {
			c.judged[r.Backend]++
			compared = true
		}
	}
	if !compared {
		c.neutral++
	}
	return nil
}

// No known-good kernel is accused: verdicts on fresh seeds for TRIAD_FIGURE_SECONDS, by TRIAD_FIGURE_WORKERS drivers side by side, the last of
// which judges Triton's kernels and the others ours and torch's. The seeds begin at TRIAD_FIGURE_SEED, else at the time.
func TestFigureAlarms(t *testing.T) {
	figureFolder(t)
	folder, path, g := gpuFolder(t)
	drivers, seconds := setting("TRIAD_FIGURE_WORKERS", 5), setting("TRIAD_FIGURE_SECONDS", 90)
	first := uint64(setting("TRIAD_FIGURE_SEED", int(time.Now().UnixMilli())))
	stop, cancel := context.WithTimeout(t.Context(), time.Duration(seconds)*time.Second)
	defer cancel()
	c := &tally{mu: &sync.Mutex{}, judged: map[string]int{}, sameSeeds: map[uint64]bool{}}
	began := time.Now()
	var group sync.WaitGroup
	for d := range drivers {
		python := rowsOfPython(t)
		backends := []backend.Backend{kernelsOf(t, path, filepath.Join(folder, "kernels"), worker.DefaultLimits), python}
		triton := d == drivers-1 && drivers > 1
		if triton {
			backends = backends[1:]
		}
		group.Go(func() {
			r := &run.Runner{Backends: backends, Recorder: c, Stop: stop}
			names := catalog.Names()
			for turn := d; stop.Err() == nil; turn++ {
				seed := first + uint64(turn/len(names)*drivers+d)
				if err := judgeOne(t.Context(), r, names[turn%len(names)], triton, seed, g.MemoryBytes); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	total := 0
	for _, n := range c.judged {
		total += n
	}
	leave(t, "alarms", fmt.Sprintf("%d verdicts on outputs of known-good kernels (%v) on %d seeds in %.0f s: %d records bad, %d neutral", total, c.judged, len(c.sameSeeds),
		time.Since(began).Seconds(), len(c.accused), c.neutral), map[string]any{"verdicts": total, "by_family": c.judged, "first_seed": first, "accused": c.accused})
	if len(c.accused) > 0 {
		t.Errorf("%d records are bad, the first: %.2000s", len(c.accused), c.accused[0])
	}
}

// judgeOne judges the implementations of an operator on the quick cases of a seed: Triton's, or all others but torch.compile's, which spends its
// time on compiling.
func judgeOne(ctx context.Context, r *run.Runner, operator string, triton bool, seed uint64, memory int64) error {
	o, err := catalog.Get(operator)
	if err != nil {
		return err
	}
	var names []string
	for _, b := range r.Backends {
		reply, _, err := b.Load(ctx, operator)
		if err != nil {
			return err
		}
		for _, i := range reply.Implementations {
			if strings.HasPrefix(i.Name, "triton/") == triton && !strings.HasPrefix(i.Name, "torch/compile") && !slices.Contains(names, i.Name) {
				names = append(names, i.Name)
			}
		}
	}
	if len(names) == 0 {
		return nil
	}
	_, err = r.Compare(ctx, run.Request{Operators: []*catalog.Operator{o}, Seed: seed, Impls: names,
		Options: op.Options{Device: "gpu", Memory: memory, Level: op.LevelQuick}})
	return err
}

package report

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"triad/internal/op"
	"triad/internal/record"
)

func timedRecords() ([]record.Record, Timed) {
	c := op.Case{
		Op: "softmax", Pass: op.Forward, DType: "bf16", Dims: op.Dims{
			{Name: "rows", Value: 8192},
			{Name: "cols", Value: 8192},
		}, Layout: "contiguous",
		Distribution: "normal",
	}
	timing := func(status op.Status, ns float64, message string) []record.Timing {
		return []record.Timing{{
			Regime: "cold", Status: status, Message: message, N: 30, MedianNS: ns, LowNS: ns * 0.998,
			HighNS: ns * 1.002, Bytes: 268435456,
			FLOPs: 335544320, Roofline: new(record.Float(0.925)), ClockMHz: new(record.Float(1980)),
		}}
	}
	vec := timing(op.StatusPass, 69_230, "")
	vec[0].Kernels = []record.Launch{{
		Kernel: "_Z3vecPf", Grid: [3]int{132, 1, 1}, Block: [3]int{256, 1, 1}, Registers: 40, SharedBytes: 64,
		DynamicSharedBytes:      1000,
		BlocksPerMultiprocessor: 6, Occupancy: 0.75,
	}, {Kernel: "_Z4tailPf", Occupancy: 1}}
	records := []record.Record{
		{
			ID: "B", Case: c, Impl: "torch/eager", Device: "gpu", Status: op.StatusPass,
			Timings: timing(op.StatusPass, 256_500, ""),
			Outputs: []record.Verdict{{Name: "y", N: 1000, NCompared: 23, NCovered: 977}},
		},
		{
			ID: "A", Case: c, Impl: "cuda/vec", Device: "gpu", Status: op.StatusPass, Timings: vec,
			Outputs: []record.Verdict{{Name: "y", N: 1000, NCompared: 1000}},
		},
		{
			ID: "C", Case: c, Impl: "cuda/cheat", Device: "gpu", Status: op.StatusPass,
			Timings: timing(op.StatusImpossible, 1_000, "1000.0 ns a call: too fast"),
		},
		{
			ID: "D", Case: c, Impl: "cuda/wrong", Device: "gpu", Status: op.StatusFail,
			Message: "y[0, 0] is 3",
			Outputs: []record.Verdict{{Name: "y", N: 1000, NCompared: 230}},
		},
	}
	return records, Timed{
		Ceilings: []record.Ceiling{
			{Name: "bf16", FLOPsPerSecond: new(record.Float(7.87e14))},
			{Name: "copy", BytesPerSecond: new(record.Float(4.123e12))},
		},
		Comparisons: []record.Comparison{
			{
				A: "cuda/vec", B: "cuda/vec", RunA: "A", RunB: "A", Regime: "cold", Ratio: 1,
				SpeedVerdict: "SAME",
			},
			{
				A: "torch/eager", B: "cuda/vec", RunA: "B", RunB: "A", Regime: "cold", Ratio: 3.706, Low: 3.7,
				High: 3.71, SpeedVerdict: "SLOWER",
			},
		},
	}
}

// TestBenchTable: the fastest comes first; what is impossible or wrong shows no time.
func TestBenchTable(t *testing.T) {
	records, timed := timedRecords()
	var out strings.Builder
	if err := Bench(&out, Style{}, records, timed, Summary{Exit: 1}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	golden(t, "bench.txt", text)
	const missing = "No share of the roofline"
	if strings.Contains(text, missing) {
		t.Errorf("every share is there:\n%s", text)
	}
	records[1].Timings[0].Roofline = nil
	out.Reset()
	if err := Bench(&out, Style{}, records, timed, Summary{Exit: 1}); err != nil ||
		!strings.Contains(out.String(), missing) {
		t.Errorf("%v, a share is missing:\n%s", err, out.String())
	}
}

func TestRatioWords(t *testing.T) {
	eight := make([]float64, 8)
	for want, c := range map[string]record.Comparison{
		"1.46 [1.450, 1.459]": {Ratio: 1.4561, Low: 1.45, High: 1.459, SpeedVerdict: "SLOWER", Ratios: eight},
		"39 x": {
			Ratio: 39.0412, Low: 39.01, High: 39.11, SpeedVerdict: "SLOWER",
			Ratios: eight[:3],
		},
		"707 x": {
			Ratio: 707.123456, Low: 700, High: 710, SpeedVerdict: "SLOWER",
			Ratios: eight,
		},
		"2.31 [2.290, 2.320]": {
			Ratio: 2.31, Low: 2.29, High: 2.32, SpeedVerdict: "SLOWER",
			Ratios: eight[:3],
		},
		"1.00 [0.980, 1.030]": {Ratio: 1, Low: 0.98, High: 1.03, SpeedVerdict: "AMBIGUOUS", Ratios: eight},
		"1.46 in 2 rounds": {
			Ratio: 1.46, Low: 1.45, High: 1.47, SpeedVerdict: "AMBIGUOUS",
			Ratios: eight[:2],
		},
	} {
		if got := ratioWords(c); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestShowTellsOfTimes: the page of a run shows its times, and the kernels that were timed.
func TestShowTellsOfTimes(t *testing.T) {
	records, _ := timedRecords()
	var out strings.Builder
	if err := Show(&out, Style{}, record.Run{Record: records[1]}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"69.23 us [69.09 us, 69.37 us], PASS, 30 samples",
		"_Z3vecPf: grid [132 1 1], block [256 1 1], 40 registers", "1064 bytes of shared memory",
		"(75 % occupied)",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
}

// TestNothingTimedIsNoTable: without times there is no table: an emulated kernel never shows a time.
func TestNothingTimedIsNoTable(t *testing.T) {
	records, _ := timedRecords()
	for i := range records {
		records[i].Timings = nil
	}
	var out strings.Builder
	if err := Times(&out, Style{}, records, Timed{}); err != nil || out.Len() != 0 {
		t.Errorf("%v %q", err, out.String())
	}
}

func TestMarkdown(t *testing.T) {
	records, timed := timedRecords()
	session := record.Session{
		ID: "S", Command: []string{"bench", "softmax"}, Started: time.Unix(0, 0),
		Toolchain: record.Toolchain{"torch": "2.11", "driver": "580"},
		Machine: record.Machine{
			GPU: "NVIDIA H200", GPUMemoryBytes: 141e9, GPUDriver: "580.1", CPU: "x",
			Cores: 16, OS: "linux", Kernel: "6",
		},
	}
	var out strings.Builder
	if err := Markdown(&out, session, records, timed); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"NVIDIA H200 (141 GB, driver 580.1), x, 16 cores", "driver 580, torch 2.11",
		"| cuda/vec | PASS | cold | 69.23 us | ±0.2 % | 3.877 TB/s | 92 % | 1 |",
		"| cuda/wrong | bf16 | FAIL | 0 | 0 | 1 |", "copy 4.12 TB/s",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("lacks %q:\n%s", want, out.String())
		}
	}
	for i := range records { // names of files are untrusted text
		records[i].Impl = "mine/<img src=x>|`.cu"
	}
	session.Command = []string{"bench", "--add", "`<b>"}
	session.Toolchain = record.Toolchain{"mine/<b>": "1"}
	out.Reset()
	if err := Markdown(&out, session, records, timed); err != nil || strings.Contains(out.String(), "<img") ||
		!strings.Contains(out.String(), "| mine/&lt;img src=x&gt;&#124;&#96;.cu |") ||
		!strings.Contains(out.String(), "`` triad bench --add '`<b>' ``") ||
		!strings.Contains(out.String(), "mine/&lt;b&gt; 1") {
		t.Errorf("%v\n%s", err, out.String())
	}
	out.Reset()
	if err := MarkdownRows(&out, []string{"<i>"}, [][]any{{"<b>|"}}); err != nil ||
		!strings.Contains(out.String(), "| &lt;i&gt; |") ||
		!strings.Contains(out.String(), "| &lt;b&gt;&#124; |") {
		t.Errorf("%v\n%s", err, out.String())
	}
}

func TestDuration(t *testing.T) {
	for ns, want := range map[float64]string{
		3.2: "0.003200 us", 940: "0.9400 us", 6604: "6.604 us",
		69_230: "69.23 us", 256_512: "256.5 us", 1_403_000: "1.403 ms", 2.5e9: "2.500 s",
	} {
		if got := Duration(ns); got != want {
			t.Errorf("%v ns is %q, want %q", ns, got, want)
		}
	}
}

// TestABackwardWithItsForwardIsComparedWithASum: a backward that was timed with its forward has its own name,
// and is compared with the sum of a forward and a backward of one family.
func TestABackwardWithItsForwardIsComparedWithASum(t *testing.T) {
	records, _ := timedRecords()
	timed := func(id, impl string, pass op.Pass, ns float64, backward, message string) record.Record {
		r := records[1]
		r.ID, r.Impl, r.Case.Pass = id, impl, pass
		r.Timings = []record.Timing{{
			Regime: "cold", Status: op.StatusPass, N: 30, MedianNS: ns, LowNS: ns,
			HighNS: ns, Bytes: 1 << 20, Backward: backward, Message: message,
		}}
		return r
	}
	all := []record.Record{
		timed("F", "cuda/vec", op.Forward, 40_000, "", ""), timed("G", "cuda/slow", op.Forward,
			50_000, "", ""),
		timed("H", "triton/row", op.Forward, 10_000, "", ""), timed("A", "cuda/partials", op.Backward, 60_000,
			record.SavedTensors, ""),
		timed("B", "torch/eager", op.Backward, 90_000, record.RetainedGraph, ""), timed("C", "liger/kernel",
			op.Backward, 250_000, record.ForwardBackward, "it says why"),
	}
	var out strings.Builder
	if err := Times(&out, Style{}, all, Timed{Comparisons: []record.Comparison{{
		A: "torch/eager", B: "cuda/partials", RunA: "B", RunB: "A", Regime: "cold", Ratio: 1.5,
		Low: 1.4, High: 1.6, SpeedVerdict: "SLOWER", Ratios: make([]float64, 9),
	}}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`torch/eager  .* 90.00 us .* 1.50 \[1.400, 1.600\]  SLOWER .* alone, through a retained graph\n`,
		`liger/kernel forward\+backward  PASS +all +cold    250.0 us    ±0.0 % +2.50 x .*its forward is ` +
			`timed with it: beside 100.0 us, the sum of cuda/vec forward and cuda/partials backward; it ` +
			`says why\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out.String()) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := Times(&out, Style{}, all[5:], Timed{}); err != nil ||
		!strings.Contains(out.String(), "  its forward is timed with it; it says why\n") {
		t.Errorf("without a sum: %v\n%s", err, out.String())
	}
}

// TestRate: what computes many FLOPs a byte has its rate in FLOP/s.
func TestRate(t *testing.T) {
	for want, timing := range map[string]record.Timing{
		"2.000 TB/s":  {MedianNS: 1000, Bytes: 2_000_000, FLOPs: 4_000_000},
		"800 TFLOP/s": {MedianNS: 1000, Bytes: 2_000_000, FLOPs: 800_000_000_000 / 1000},
	} {
		if got := rate(&timing); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// TestTimingWords: a timing in one line ends with its message.
func TestTimingWords(t *testing.T) {
	got := timingWords(record.Timing{
		Status: op.StatusImpossible, N: 30, MedianNS: 5,
		Message: "5.0 ns a call: too fast\n",
	})
	if got != "IMPOSSIBLE, 30 samples; 5.0 ns a call: too fast" {
		t.Errorf("%q", got)
	}
}

package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"triad/internal/op"
)

var update = flag.Bool("update", false,
	"write testdata/large.txt: what it changes changes the meaning of all stored seeds")

// largeShapes have tensors that several cores draw, with rows that end within the part of one core.
var largeShapes = map[string]map[string]int64{
	"softmax":         {"rows": 70, "cols": 2003},
	"layernorm":       {"rows": 70, "cols": 2003},
	"swiglu":          {"rows": 70, "cols": 2003},
	"rope":            {"batch": 1, "seq": 300, "heads_q": 7, "heads_k": 1, "head_dim": 66},
	"fp8_gemm":        {"m": 300, "n": 260, "k": 500},
	"flash_attention": {"batch": 1, "heads_q": 6, "heads_kv": 2, "seq_q": 190, "seq_kv": 601, "head_dim": 64},
}

// TestGoldenHashesOfLargeCases: the bits of large inputs are those in testdata/large.txt, for every kind of
// data and of upstream gradient, however many are drawn at once.
func TestGoldenHashesOfLargeCases(t *testing.T) {
	const file = "testdata/large.txt"
	found := map[string]string{}
	for name, dims := range largeShapes {
		s := specNamed(t, name)
		var cases []op.Case
		for distribution := range distributions {
			for _, dtype := range []string{s.DTypes[0], s.DTypes[len(s.DTypes)-1]} {
				cases = append(cases, op.Case{Pass: op.Forward, DType: dtype, Distribution: distribution})
			}
		}
		for _, upstream := range []string{"normal", "ones", "one_hot", "zeros", "huge"} {
			cases = append(cases, op.Case{Pass: op.Backward, DType: s.DTypes[0], Upstream: upstream})
		}
		for _, c := range cases {
			made, err := s.NewCase(c, dims, nil)
			if err != nil {
				continue // not a kind of data that the operator is asked for
			}
			list, err := Inputs(s, made, defaultSeed)
			if err != nil {
				t.Fatalf("%s: %v", made.Key(), err)
			}
			h := sha256.New()
			for _, x := range list {
				h.Write(x.Data)
			}
			found[fmt.Sprint(name, " ", c.Pass, " ", c.DType, " ", c.Distribution,
				c.Upstream)] = hex.EncodeToString(h.Sum(nil)[:8])
		}
	}
	var lines strings.Builder
	for _, key := range slices.Sorted(maps.Keys(found)) {
		fmt.Fprintf(&lines, "%s = %s\n", key, found[key])
	}
	if *update {
		if err := os.WriteFile(file, []byte(lines.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != lines.String() {
		t.Errorf("the inputs are not those of %s, want\n%sgot\n%s", file, want, lines.String())
	}
}

// BenchmarkInputs measures the cost of the inputs of a large case, for each kind of data: processor time of
// all cores per element of a tensor.
func BenchmarkInputs(b *testing.B) {
	s := specNamed(b, "swiglu")
	const rows, cols = 512, 14336
	for _, distribution := range []string{"normal", "scaled", "zeros", "outlier", "extremes"} {
		c := makeCase(b, s, op.Case{Pass: op.Forward, DType: "bf16", Distribution: distribution},
			map[string]int64{"rows": rows, "cols": cols}, nil)
		b.Run(distribution, func(b *testing.B) {
			least := time.Duration(math.MaxInt64)
			for b.Loop() {
				before := processorTime(b)
				if _, err := Inputs(s, c, 1); err != nil {
					b.Fatal(err)
				}
				least = min(least, processorTime(b)-before)
			}
			b.ReportMetric(float64(least.Nanoseconds())/(2*rows*cols), "processor-ns/element")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

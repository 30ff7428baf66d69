package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"triad/cuda/program"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// ladder is an operator of the catalog, whose variants are called with one input and one output in fp32.
type ladder struct {
	Operator, Contract string
	In, Out            []int64
	Variants           []string `json:"rungs"`
}

// readLadders reads testdata/ladders.json.
func readLadders(t *testing.T) []ladder {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "ladders.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []ladder
	if err := json.Unmarshal(text, &all); err != nil || len(all) == 0 {
		t.Fatalf("%d ladders, %v", len(all), err)
	}
	return all
}

// TestExplainedLadders: the figures of each variant of the transposes and of the sums equal the recorded
// ones, and show what the variant is for.
func TestExplainedLadders(t *testing.T) {
	var text strings.Builder
	sums := map[string]Counts{}
	for _, l := range readLadders(t) {
		for _, variant := range l.Variants {
			fmt.Fprintf(&text, "%s %s\n", l.Operator, variant)
			for _, c := range inAll(explainedVariant(t, l, variant)) {
				access := c.Access + " " + c.Memory
				fmt.Fprintf(&text, "  %-40s %-13s %6d requests, %6d lanes, %6d parts, %6d at best\n",
					c.Kernel, access, c.Requests, c.Lanes, c.Parts, c.Least)
				key := l.Operator + " " + variant + " " + access
				all := sums[key]
				all.Requests, all.Parts = all.Requests+c.Requests, all.Parts+c.Parts
				sums[key] = all
			}
		}
	}
	name := filepath.Join("testdata", "explained.txt")
	if *updatePage {
		if err := os.WriteFile(name, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != text.String() {
		t.Errorf("the figures are\n%sand recorded (go test ./internal/check -run Explained -update):\n%s",
			text.String(), want)
	}
	tellTheirStories(t, sums)
}

// tellTheirStories checks the relations between variants that are known without a run.
func tellTheirStories(t *testing.T, sums map[string]Counts) {
	t.Helper()
	of := func(key string) Counts {
		if sums[key].Requests == 0 {
			t.Errorf("%s: not counted", key)
		}
		return sums[key]
	}
	each := func(key string) int64 { return of(key).Parts / max(of(key).Requests, 1) }
	for key, parts := range map[string]int64{
		"transpose naive write device":   32, // each lane writes to another row
		"transpose tiled write device":   4,
		"transpose tiled read shared":    32, // all of a column is in one bank
		"transpose padded read shared":   1,
		"transpose swizzled read shared": 1,
		"transpose vec read device":      12, // 16 bytes a lane, of which a quarter lie outside
		"sum atomic atomic device":       1,  // all lanes add to one number
	} {
		if got := each(key); got != parts {
			t.Errorf("%s: %d parts a request, want %d", key, got, parts)
		}
	}
	tree, warp := of("sum tree read shared"), of("sum warp read shared")
	if tree.Requests < 10*warp.Requests {
		t.Errorf("sum: tree reads shared memory %d times, warp %d: shuffles spare most", tree.Requests,
			warp.Requests)
	}
	if warp, vec := of("sum warp read device"), of("sum vec read device"); warp.Requests < 3*vec.Requests {
		t.Errorf("sum: warp reads device memory %d times, vec %d: a pack has four elements", warp.Requests,
			vec.Requests)
	}
}

// inAll adds up the accesses of each kernel.
func inAll(r *Report) []Counts {
	var all []Counts
	at := map[string]int{}
	for _, c := range r.Counts {
		if c.Place == nil || c.Access == diverged {
			continue
		}
		key := c.Kernel + c.Memory + c.Access
		i, seen := at[key]
		if !seen {
			at[key] = len(all)
			all = append(all, c)
			continue
		}
		all[i].Requests, all[i].Lanes = all[i].Requests+c.Requests, all[i].Lanes+c.Lanes
		all[i].Parts, all[i].Least = all[i].Parts+c.Parts, all[i].Least+c.Least
	}
	return all
}

// explainedVariant runs one call of a kernel with its accesses counted.
func explainedVariant(t *testing.T, l ladder, variant string) *Report {
	t.Helper()
	built, err := program.BuildKernel(t.Context(), builder(t), l.Operator, true)
	if err != nil {
		t.Fatal(err)
	}
	var call bytes.Buffer
	if err := program.WriteCall(&call, backend.Job{
		Implementation: backend.Implementation{
			Name: "cuda/" + variant, Op: l.Operator, Pass: op.Forward,
			Contract: l.Contract,
		},
		DType: "fp32", Inputs: []tensor.Tensor{tensor.New("x", op.FP32, l.In)},
		Outputs: []op.TensorType{{Name: "y", DType: op.FP32, Shape: l.Out}},
	}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "call")
	if err := os.WriteFile(file, call.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	q := requestOf(built)
	q.Args, q.Orders, q.Counts = []string{file}, Orders[:1], true
	q.Limit, q.Stall, q.Budget = time.Minute, 10*time.Second, time.Minute
	r, err := Run(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("%s %s: %s", l.Operator, variant, f.Sentence())
	}
	return r
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/session"
)

// result is a line of triad compare --json, as far as these tests look at it.
type result struct {
	Impl, Variant, DType, Layout, Distribution, Message string
	Pass                                                op.Pass
	Dims                                                map[string]int64
	Attributes                                          map[string]any
	Status                                              op.Status
	Outputs                                             []output
}

type output struct {
	Name, Gate, Message, Pattern string
	Status                       op.Status
	Worst                        *struct{ Index []int64 }
}

// rejection is how a planted bug must end: with this status in at least one case, by this gate where the judge rejects it, in these words,
// at this place, and never with another bad status than that or FAIL.
type rejection struct {
	status op.Status // UNKNOWN: any bad one, where what happens is undefined
	gate   string    // a regular expression, as words is
	words  string
	at     func(index []int64, r result) bool
}

// wrongKernels are the planted bugs of testdata/wrong: operator, pass, implementation. The right variants beside them must pass.
var wrongKernels = map[string]map[string]rejection{
	"softmax forward": {
		"cuda/no_max":                 {op.StatusFail, "G[12]", "", nil},
		"cuda/max_from_zero":          {op.StatusFail, "G[12]", "", nil},
		"cuda/exp2_without_log2e":     {op.StatusFail, "G2", "", nil},
		"cuda/tail_not_summed":        {op.StatusFail, "G2", "", nil},
		"cuda/row_above":              {op.StatusFail, "G[12]", "", inRow(func(row, _ int64) bool { return row > 0 })},
		"cuda/last_row_not_launched":  {op.StatusFail, "G0", "was never written", inRow(func(row, rows int64) bool { return row == rows-1 })},
		"cuda/one_past_the_end":       {op.StatusOutOfBounds, "", "past the end of y|after", nil},
		"cuda/missing_barrier":        {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/shuffle_of_half_a_warp": {op.StatusFail, "G[012]", "", nil},
		"cuda/stale_shared_memory":    {op.StatusFail, "G[012]", "", nil},
		"cuda/plain_add":              {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/scribbles":              {op.StatusFail, "G0", "changed its inputs: x is not what it was", nil},
		"cuda/cached":                 {op.StatusFail, "G[12]", "", nil},
		"triton/padding_of_zeros":     {op.StatusFail, "G2", "", nil},
		"triton/exp_in_16_bits":       {op.StatusFail, "G[24]", "", nil},
		"triton/log_softmax":          {op.StatusFail, "G[12]", "", nil},
		"triton/last_not_stored":      {op.StatusFail, "G0", "was never written", inColumn(func(col, cols int64) bool { return col == cols-1 })},
	},
	"softmax backward": {
		"cuda/dot_missing":            {op.StatusFail, "G2", "", nil},
		"cuda/sign":                   {op.StatusFail, "G2", "", nil},
		"cuda/dot_of_first_half":      {op.StatusFail, "G2", "", nil},
		"cuda/upstream_ignored":       {op.StatusFail, "G[12]", "", nil},
		"cuda/last_rows_not_launched": {op.StatusFail, "G0", "was never written", inRow(func(row, rows int64) bool { return row >= rows/8*8 })},
		"cuda/one_past_the_gradient":  {op.StatusOutOfBounds, "", "past the end of grad_x|after", nil},
	},
	"layernorm forward": {
		"cuda/divides_by_n_minus_1":      {op.StatusFail, "G[12]", "", nil},
		"cuda/eps_outside_the_root":      {op.StatusFail, "G[12]", "", nil},
		"cuda/one_pass_variance":         {op.StatusFail, "G[12]", "", nil},
		"cuda/beta_missing":              {op.StatusFail, "G[12]", "^y", nil},
		"cuda/mean_not_subtracted":       {op.StatusFail, "G[12]", "^y", nil},
		"cuda/rstd_of_row_0":             {op.StatusFail, "G[12]", "^rstd", inRow(func(row, _ int64) bool { return row > 0 })},
		"cuda/tail_not_reduced":          {op.StatusFail, "G2", "^mean", nil},
		"cuda/last_row_not_launched":     {op.StatusFail, "G0", "was never written", inRow(func(row, rows int64) bool { return row == rows-1 })},
		"cuda/one_past_the_end":          {op.StatusOutOfBounds, "", "past the end of rstd|after", nil},
		"cuda/missing_barrier":           {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/plain_add":                 {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/shuffle_of_half_a_warp":    {op.StatusFail, "G[012]", "", nil},
		"cuda/stale_shared_memory":       {op.StatusFail, "G[012]", "", nil},
		"cuda/scribbles":                 {op.StatusFail, "G0", "changed its inputs: x is not what it was", nil},
		"triton/mean_over_padded_row":    {op.StatusFail, "G[12]", "^y", nil},
		"triton/padding_in_the_variance": {op.StatusFail, "G[12]", "^y", nil},
		"triton/eps_missing":             {op.StatusFail, "G[12]", "^y", nil},
		"triton/gamma_plus_1":            {op.StatusFail, "G[12]", "^y", nil},
	},
	"layernorm backward": {
		"cuda/mean_term_missing":  {op.StatusFail, "G[12]", "^grad_x", nil},
		"cuda/xhat_term_missing":  {op.StatusFail, "G[12]", "^grad_x", nil},
		"cuda/gamma_ignored":      {op.StatusFail, "G[12]", "^grad_x", nil},
		"cuda/last_row_dropped":   {op.StatusFail, "G[12]", "^grad_(weight|bias)", nil},
		"cuda/bias_gets_gamma":    {op.StatusFail, "G[12]", "^grad_bias", nil},
		"cuda/plain_add_of_parts": {op.StatusRace, "G0", "grad_(weight|bias).*differs between two orders", nil},
	},
	"rope forward": {
		"cuda/interleaved_for_halves": {op.StatusFail, "G[123]", "_out", nil},
		"cuda/sign":                   {op.StatusFail, "G[123]", "_out", nil},
		"cuda/position_plus_1":        {op.StatusFail, "G[123]", "_out", nil},
		"cuda/cos_and_sin_swapped":    {op.StatusFail, "G[123]", "_out", nil},
		"cuda/offset_ignored":         {op.StatusFail, "G[123]", "_out", nil},
		"cuda/k_copied":               {op.StatusFail, "G[123]", "^k_out", nil},
		"cuda/tail_not_launched":      {op.StatusFail, "G0", "_out.*was never written", nil},
		"cuda/one_past_the_end":       {op.StatusOutOfBounds, "", "past the end of q_out|after", nil},
		"cuda/scribbles":              {op.StatusFail, "G0", "changed its inputs: q, k is not what it was|changed its inputs: q", nil},
		"cuda/in_place_pair":          {op.StatusFail, "G[123]", "_out", nil},
		"triton/last_pair_missing":    {op.StatusFail, "G0", "_out.*was never written", nil},
		"triton/head_for_token":       {op.StatusFail, "G[123]", "_out", nil},
		"triton/angle_in_fp16":        {op.StatusFail, "G2", "_out", nil},
		"triton/turns_back":           {op.StatusFail, "G[123]", "_out", nil},
	},
	"rope backward": {
		"cuda/minus_angle_for_both": {op.StatusFail, "G[123]", "^grad_q", nil},
		"cuda/k_copied":             {op.StatusFail, "G[123]", "^grad_k", nil},
		"cuda/offset_ignored":       {op.StatusFail, "G[123]", "^grad_", nil},
	},
	"fp8_gemm forward": {
		"cuda/last_block_of_k_missing": {op.StatusFail, "G[123]", "^c", nil},
		"cuda/k_off_by_one":            {op.StatusFail, "G[123]", "^c", nil},
		"cuda/scale_a_twice":           {op.StatusFail, "G[123]", "^c", nil},
		"cuda/scale_a_of_row_0":        {op.StatusFail, "G[123]", "^c", nil},
		"cuda/scale_missing":           {op.StatusFail, "G[123]", "^c", nil},
		"cuda/e5m2_read_as_e4m3":       {op.StatusFail, "G[123]", "^c", nil},
		"cuda/bf16_accumulator":        {op.StatusFail, "G[234]", "^c", nil},
		"cuda/no_blocks_of_scales":     {op.StatusFail, "G[123]", "^c", nil},
		"cuda/row_tail_not_launched":   {op.StatusFail, "G0", "was never written", nil},
		"cuda/one_past_the_end":        {op.StatusOutOfBounds, "", "past the end of c|after", nil},
		"cuda/missing_barrier":         {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/stale_tile":              {op.StatusFail, "G[0123]", "^c", nil},
		"cuda/scribbles":               {op.StatusFail, "G0", "changed its inputs: a is not what it was", nil},
		"triton/tail_of_k_missing":     {op.StatusFail, "G[123]", "^c", nil},
		"triton/scale_of_column_0":     {op.StatusFail, "G[123]", "^c", nil},
		"triton/scale_inverted":        {op.StatusFail, "G[123]", "^c", nil},
		"triton/saturates":             {op.StatusFail, "G[123]", "^c", nil},
	},
	"fp8_gemm backward": {
		"cuda/scale_of_g_missing":      {op.StatusFail, "G[123]", "^grad_a", nil},
		"cuda/e5m2_read_as_e4m3":       {op.StatusFail, "G[123]", "^grad_", nil},
		"cuda/last_block_of_m_missing": {op.StatusFail, "G[123]", "^grad_b", nil},
	},
	"flash_attention forward": {
		"cuda/scale_missing":           {op.StatusFail, "G[12]", "", nil},
		"cuda/scale_of_padded_head":    {op.StatusFail, "G[12]", "", nil},
		"cuda/causal_without_diagonal": {op.StatusFail, "G[12]", "", nil},
		"cuda/causal_top_left":         {op.StatusFail, "G[12]", "", nil},
		"cuda/last_keys_dropped":       {op.StatusFail, "G[12]", "", nil},
		"cuda/output_not_rescaled":     {op.StatusFail, "G[12]", "^o", nil},
		"cuda/sum_not_rescaled":        {op.StatusFail, "G[12]", "", nil},
		"cuda/not_normalised":          {op.StatusFail, "G[12]", "^o", nil},
		"cuda/wrong_head_of_the_group": {op.StatusFail, "G[12]", "", nil},
		"cuda/lse_without_log":         {op.StatusFail, "G[12]", "^lse", nil},
		"cuda/missing_barrier":         {op.StatusRace, "G0", "differs between two orders", nil},
		"cuda/last_query_not_launched": {op.StatusFail, "G0", "was never written", nil},
		"cuda/one_past_the_end":        {op.StatusOutOfBounds, "", "past the end of lse|after", nil},
		"cuda/scribbles":               {op.StatusFail, "G0", "changed its inputs: q is not what it was", nil},
		"triton/one_future_key":        {op.StatusFail, "G[12]", "^o", nil},
		"triton/padding_seen":          {op.StatusFail, "G[12]", "^o", nil},
		"triton/first_key_skipped":     {op.StatusFail, "G[12]", "^o", nil},
		"triton/weights_in_e5m2":       {op.StatusFail, "G[24]", "^o", nil},
	},
	"flash_attention backward": {
		"cuda/delta_missing":      {op.StatusFail, "G[12]", "^grad_[qk]", nil},
		"cuda/grad_q_unscaled":    {op.StatusFail, "G[12]", "^grad_q", nil},
		"cuda/group_not_summed":   {op.StatusFail, "G[12]", "^grad_[kv]", nil},
		"cuda/last_query_dropped": {op.StatusFail, "G[12]", "^grad_[kv]", nil},
	},
	"swiglu forward": {
		"cuda/swapped":             {op.StatusFail, "G[12]", "", nil},
		"cuda/sigmoid_for_silu":    {op.StatusFail, "G[12]", "", nil},
		"cuda/gelu_for_silu":       {op.StatusFail, "G[12]", "", nil},
		"cuda/overflowing":         {op.StatusFail, "G1", "NaN", nil},
		"cuda/up_ignored":          {op.StatusFail, "G[12]", "", nil},
		"cuda/tail_not_launched":   {op.StatusFail, "G0", "was never written", inRow(func(row, rows int64) bool { return row >= rows-16 })},
		"cuda/one_past_the_end":    {op.StatusOutOfBounds, "", "past the end of y|after", nil},
		"cuda/scribbles":           {op.StatusFail, "G0", "changed its inputs: gate is not what it was", nil},
		"cuda/not_my_tile":         {op.StatusRace, "G0", "differs between two orders", nil},
		"triton/sign":              {op.StatusFail, "G[12]", "", nil},
		"triton/silu_in_e5m2":      {op.StatusFail, "G[12]", "", nil},
		"triton/sum_for_product":   {op.StatusFail, "G[12]", "", nil},
		"triton/tail_not_launched": {op.StatusFail, "G0", "was never written", nil},
	},
	"swiglu backward": {
		"cuda/term_missing":            {op.StatusFail, "G[12]", "grad_gate", nil},
		"cuda/swapped_outputs":         {op.StatusFail, "G[12]", "grad_", nil},
		"cuda/up_for_upstream":         {op.StatusFail, "G[12]", "grad_", nil},
		"cuda/last_block_not_launched": {op.StatusFail, "G0", "grad_.*was never written", nil},
	},
}

// inRow and inColumn ask where in a matrix the worst element lies, given the size of the dim.
func inRow(holds func(row, rows int64) bool) func([]int64, result) bool {
	return inDim(0, "rows", holds)
}

func inColumn(holds func(col, cols int64) bool) func([]int64, result) bool {
	return inDim(1, "cols", holds)
}

func inDim(dim int, name string, holds func(at, size int64) bool) func([]int64, result) bool {
	return func(index []int64, r result) bool { return dim < len(index) && holds(index[dim], r.Dims[name]) }
}

// Every kernel with a planted bug is rejected, for its own reason and at the right place; the right one beside it passes.
func TestWrongKernels(t *testing.T) {
	need.Tool(t, "g++")
	impls := "cuda"
	t.Run("triton", func(t *testing.T) {
		testPython(t)
		impls += ",triton"
	})
	for _, name := range operatorsOf(wrongKernels) {
		t.Run(name, func(t *testing.T) {
			records := comparePlanted(t, name, impls)
			for _, pass := range []op.Pass{op.Forward, op.Backward} {
				expected := wrongKernels[name+" "+pass.String()]
				for impl, want := range expected {
					if strings.HasPrefix(impl, "triton/") && impls == "cuda" {
						continue
					}
					if err := want.holds(of(records, impl, pass)); err != nil {
						t.Errorf("%s/%s %v: %v", name, impl, pass, err)
					}
				}
				checkRest(t, records, pass, expected)
			}
		})
	}
}

// dtypesOf is enough for every bug to show: the widest dtype and the one with the fewest digits.
var dtypesOf = map[string]string{"softmax": "fp32,bf16", "layernorm": "fp32,bf16", "swiglu": "fp32,bf16", "rope": "fp32,bf16",
	"fp8_gemm": "e4m3,e5m2_e4m3", "flash_attention": "fp32,bf16"}

func operatorsOf(table map[string]map[string]rejection) []string {
	var names []string
	for key := range table {
		name, _, _ := strings.Cut(key, " ")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// checkRest demands that what is not expected to fail is called right and passes.
func checkRest(t *testing.T, records []result, pass op.Pass, expected map[string]rejection) {
	t.Helper()
	passed := map[string]int{}
	for _, r := range records {
		_, wrong := expected[r.Impl]
		if wrong || r.Pass != pass || r.Status == op.StatusMissing {
			continue
		}
		if !strings.HasPrefix(r.Variant, "right") {
			t.Errorf("%s %v is not in the table", r.Impl, pass)
		}
		if r.Status.Weight() == op.Bad {
			t.Errorf("%s %v in %s, %v %s %s: %v %s", r.Impl, pass, r.DType, r.Dims, r.Distribution, r.Layout, r.Status, r.Message)
		}
		if r.Status.Weight() == op.Good {
			passed[r.Impl]++
		} else {
			passed[r.Impl] += 0
		}
	}
	for impl, n := range passed {
		if n == 0 {
			t.Errorf("%s %v never passed", impl, pass)
		}
	}
	if len(passed) == 0 && len(expected) > 0 {
		t.Errorf("%v: there is no right variant", pass)
	}
}

func of(records []result, impl string, pass op.Pass) []result {
	var out []result
	for _, r := range records {
		if r.Impl == impl && r.Pass == pass {
			out = append(out, r)
		}
	}
	return out
}

// holds says what is not as expected in the records of one implementation.
func (want rejection) holds(records []result) error {
	if len(records) == 0 {
		return fmt.Errorf("it was not run")
	}
	found := false
	var seen []string
	for _, r := range records {
		if r.Status.Weight() != op.Bad {
			continue
		}
		if want.status != op.StatusUnknown && r.Status != want.status && r.Status != op.StatusFail {
			return fmt.Errorf("it ended %v, want %v: %s", r.Status, want.status, r.Message)
		}
		found = found || (want.status == op.StatusUnknown || r.Status == want.status) && want.explains(r)
		seen = append(seen, fmt.Sprintf("%v %s", r.Status, r.Message))
	}
	if !found {
		return fmt.Errorf("want %v, gate %q, words %q at the right place in one of %d cases; got\n\t%s", want.status, want.gate, want.words, len(records),
			strings.Join(seen[:min(len(seen), 4)], "\n\t"))
	}
	return nil
}

func (want rejection) explains(r result) bool {
	if want.gate == "" {
		return matched(want.words, r.Message)
	}
	return slices.ContainsFunc(r.Outputs, func(v output) bool {
		return v.Status.Weight() == op.Bad && matched(want.gate, v.Gate) && matched(want.words, v.Message) &&
			(want.at == nil || v.Worst != nil && want.at(v.Worst.Index, r))
	})
}

func matched(pattern, text string) bool { return regexp.MustCompile(pattern).MatchString(text) }

// comparePlanted runs triad with the planted kernels of an operator in place of its own.
func comparePlanted(t *testing.T, name, impls string) []result {
	t.Helper()
	files := map[string]string{"cuda/kernels/" + name + ".cu": "wrong/" + name + ".cu", "triton/" + name + ".py": "wrong/" + name + ".py"}
	return compareOver(t, files, name, "--quick", "--dtype", dtypesOf[name], "--impl", impls)
}

// plant copies files of testdata to where they stand in place of the product's own, and gives the folder.
func plant(t *testing.T, files map[string]string) string {
	t.Helper()
	overlay := t.TempDir()
	for at, file := range files {
		text, err := os.ReadFile(filepath.Join("testdata", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(overlay, filepath.Dir(at)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(overlay, at), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return overlay
}

// compareOver runs triad compare with files of testdata in place of the product's own, and gives its results. Something must be bad.
func compareOver(t *testing.T, files map[string]string, args ...string) []result {
	t.Helper()
	overlay := plant(t, files)
	cmd := exec.Command("triad", append(append([]string{"compare"}, args...), "--json", "--db", filepath.Join(t.TempDir(), "r.db"))...)
	cmd.Env = append(os.Environ(), "TRIAD_TEST_OVERLAY="+overlay, "TRIAD_PYTHON="+os.Getenv("TRIAD_TEST_PYTHON"))
	var out, errors bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errors
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != int(session.ExitBad) {
		t.Fatalf("triad compare %v with planted bugs: %v, want exit code 1\n%s%s", args, err, errors.String(), out.String())
	}
	var records []result
	lines := bufio.NewScanner(&out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r result
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			t.Fatalf("%v in %s", err, lines.Text())
		}
		records = append(records, r)
	}
	return records
}

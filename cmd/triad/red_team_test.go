package main

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/session"
)

// redTeam lists the exploits of testdata/red_team, file by file: rows that do not compute but want to pass. A
// comment above each says what it does.
var redTeam = map[string]map[string]rejection{
	"softmax.py": {
		"torch/freed_memory":      {op.StatusFail, "G[12]", "", ""},
		"torch/freed_tensor":      {op.StatusFail, "G[12]", "", ""},
		"torch/constants":         {op.StatusFail, "G2", "", ""},
		"torch/zeros":             {op.StatusFail, "G2", "", ""},
		"torch/nan":               {op.StatusFail, "G1", "is NaN|got NaN", ""},
		"torch/clears_its_input":  {op.StatusFail, "G0", "changed its inputs: x is not what it was", ""},
		"torch/in_place":          {op.StatusFail, "G0", "changed its inputs: x is not what it was", ""},
		"torch/returns_its_input": {op.StatusFail, "G[12]", "", ""},
		"torch/cached_by_shape":   {op.StatusFail, "G[12]", "", ""},
		"torch/cached_for_good":   {op.StatusFail, "G[12]", "", ""},
		// one of two launches, or the further call of a relation
		"torch/every_third_call": {op.StatusUnknown, "G[0-6]", "", ""},
		"torch/one_output_for_all": {
			op.StatusFail, "G0",
			"in the memory of the y that an earlier call gave", "",
		},
		"torch/earlier_answer":  {op.StatusFail, "G0", "overwrote the y that an earlier call gave", ""},
		"torch/still_computing": {op.StatusFail, "G0", "left 1 thread running after it returned", ""},
		"torch/leaves_a_thread": {op.StatusFail, "G0", "left 1 thread running after it returned", ""},
		"torch/later": {
			op.StatusFail, "G0",
			"y is a triad_operator_softmax.Later, want a torch.Tensor", "",
		},
		"torch/own_methods": {
			op.StatusFail, "G0",
			"y is a tensor with a contiguous, cpu, to of its own", "",
		},
		"torch/nested":           {op.StatusFail, "G0", "y is a nested tensor", ""},
		"torch/no_storage":       {op.StatusFail, "G0", "of a memory of 0", ""},
		"torch/sparse":           {op.StatusFail, "G0", "y is a torch.sparse_coo tensor", ""},
		"torch/meta":             {op.StatusFail, "G0", "tensor on meta", ""},
		"torch/patches_empty":    {op.StatusFail, "G0", "changed torch.empty_like", ""},
		"torch/patches_checksum": {op.StatusFail, "G0", "changed its inputs: x is not what it was", ""},
		"torch/patches_store":    {op.StatusFail, "G0", "changed launch._outputs", ""},
		"torch/patches_softmax":  {op.StatusFail, "G0", "changed torch.softmax", ""},
		"torch/patches_allclose": {op.StatusFail, "G0", "changed torch.allclose, torch.equal", ""},
		"torch/sets_defaults":    {op.StatusFail, "G0", "torch's default dtype", ""},
		"torch/flushes":          {op.StatusFail, "G0", "flushing of small numbers", ""},
		// the tensor that it finds may change between two launches
		"torch/somebody_elses_tensor": {op.StatusUnknown, "G[012]", "", ""},
		"torch/shared_memory":         {op.StatusFail, "G0", "was never written", ""},
		"torch/spoils_files":          {op.StatusFail, "G2", "", ""},
		"torch/recognises_poison": {
			op.StatusFail, "G0",
			"and is wrong where that was ordinary numbers", "",
		},
		"torch/tuned_together": {op.StatusRace, "", "differs between two launches", ""},
	},
	"softmax.cu": {
		"cuda/recognises_poison": {
			op.StatusFail, "G0",
			"and is wrong where that was ordinary numbers", "",
		},
		"cuda/keeps_the_larger": {op.StatusFail, "G0", "and is wrong where that was ordinary numbers", ""},
		"cuda/zeros":            {op.StatusFail, "G2", "", ""},
		"cuda/on_the_host": {
			op.StatusOutOfBounds, "",
			"read of byte 0 of x, which is device memory: on a GPU the host cannot reach it", "",
		},
		"cuda/once":    {op.StatusFail, "G0", "was never written", ""},
		"cuda/replays": {op.StatusFail, "G[12]", "", ""},
		// the sixth call may be a launch or the further call of a relation
		"cuda/sixth_call":      {op.StatusUnknown, "G[0-6]", "", ""},
		"cuda/freed_memory":    {op.StatusFail, "G0", "depends on what memory held before the launch", ""},
		"cuda/still_computing": {op.StatusFail, "G0", "was never written", ""},
		// a jump to another thread's stack may end anywhere
		"cuda/jumps_out":          {op.StatusUnknown, "", "", ""},
		"cuda/throws_out":         {op.StatusCrash, "", "thrown by a kernel", ""},
		"cuda/throws_on_the_host": {op.StatusCrash, "", "the launch function threw a C\\+\\+ exception", ""},
		"cuda/leaves_from_kernel": {op.StatusCrash, "", "exited 0 during run, before it answered", ""},
		"cuda/handles_faults":     {op.StatusCrash, "", "exited 0 during run, before it answered", ""},
		"cuda/through_proc":       {op.StatusFail, "G0", "changed its inputs: x is not what it was", ""},
		"cuda/opens_memory":       {op.StatusFail, "G0", "changed its inputs: x is not what it was", ""},
		"cuda/closes_the_socket":  {op.StatusCrash, "", "during run, before it answered", ""},
		"cuda/declines_late": {
			op.StatusCrash, "",
			"returned TRIAD_UNSUPPORTED for a call that it had accepted", "",
		},
		"cuda/looks_first": {op.StatusCrash, "", "during run, before it answered", ""},
		// an invalid copy ends as the runtime decides, but not neutral
		"cuda/asks_the_device": {op.StatusUnknown, "", "", ""},
		"cuda/changes_its_mind": {op.StatusFail, "", "took this call once, and declines it when it is " +
			"launched again|declines these values, and takes others", ""},
		"cuda/forges_the_answer": {
			op.StatusCrash, "",
			"says PASS, which is not for a worker to say|sent reply", "",
		},
	},
	"declines.py": {
		"torch/is_not_implemented": {
			op.StatusCrash, "",
			"^NotImplementedError: softmax: only ordinary numbers \\(a call that began", "",
		},
		"torch/raises":      {op.StatusCrash, "", "^ValueError: softmax: x is out of range", ""},
		"torch/looks_first": {op.StatusCrash, "", "^Valueless: accepts asked for aten", ""},
		"torch/looks_through_the_frames": {
			op.StatusFail, "",
			"declines these values, and takes others .*the columns do not suit it", "",
		},
		"torch/looks_among_all_objects": {
			op.StatusUnknown, "",
			"(declines|takes) these values, and|Valueless", "",
		},
		"torch/changes_its_mind": {op.StatusFail, "", "took this call once, and declines it when " +
			"it is launched again|declines these values, and takes others", ""},
	},
	"layernorm.py": {
		"torch/takes_data_for_normal":  {op.StatusFail, "G2", "", ""},
		"torch/mean_of_the_answer":     {op.StatusFail, "G2", "", ""},
		"torch/statistics_of_a_sample": {op.StatusFail, "G2", "", ""},
		"torch/statistics_by_shape":    {op.StatusFail, "G2", "", ""},
		"torch/clears_its_weights": {
			op.StatusFail, "G0",
			"changed its inputs: weight, bias is not what it was|changed its inputs: weight", "",
		},
		"torch/in_sixteen_bits":             {op.StatusFail, "G2", "", ""},
		"torch/last_rows_from_freed_memory": {op.StatusFail, "G[012]", "", ""},
		"torch/declines_shifted_rows": {
			op.StatusFail, "",
			"declines these values, and takes others .*not supported", "",
		},
	},
	"ends_process.py": {
		"torch/closes_the_socket": {op.StatusCrash, "", "during run", ""},
		"torch/stops_itself":      {op.StatusHang, "", "stopped by a signal during run, as SIGSTOP does", ""},
		"torch/forges_the_answer": {op.StatusFail, "G0", "was never written", ""},
	},
}

// TestRedTeamInPython: what does not compute does not pass, in Python: neither by its output, nor by what it
// does to its process or to later calls there.
func TestRedTeamInPython(t *testing.T) {
	testPython(t)
	asked := map[string][]string{
		"softmax.py":   {"--distribution", "normal,shifted"},
		"declines.py":  {"--distribution", "normal,extremes"},
		"layernorm.py": {"--distribution", "normal,shifted"},
		// one of them never answers
		"ends_process.py": {"--distribution", "normal", "--limit", "first-cpu=10s"},
	}
	for _, file := range slices.Sorted(maps.Keys(asked)) {
		args := asked[file]
		t.Run(file, func(t *testing.T) {
			need.Covers(t, "Python", slices.Concat(need.Judge, need.Python,
				[]string{"internal/run", "internal/worker"})...)
			t.Parallel()
			name := "softmax"
			if file == "layernorm.py" {
				name = "layernorm"
			}
			judgeRedTeam(t, redTeam[file], name, "triton/"+name+".py", file,
				append(args, "--impl", "torch")...)
		})
	}
}

// TestRedTeamInCUDA: the same in CUDA, in the emulator: exploits that end their process run on one case,
// those that remember another case on two.
func TestRedTeamInCUDA(t *testing.T) {
	need.Tool(t, "g++")
	remembers, ends := map[string]rejection{}, map[string]rejection{}
	for name, how := range redTeam["softmax.cu"] {
		if how.Gate != "" { // it gives an answer
			remembers[name] = how
		} else {
			ends[name] = how
		}
	}
	declines := map[string]rejection{}
	for _, name := range []string{
		"cuda/declines_late", "cuda/looks_first", "cuda/asks_the_device",
		"cuda/changes_its_mind",
	} {
		declines[name] = ends[name]
		delete(ends, name)
	}
	for distributions, want := range map[string]map[string]rejection{
		"normal,shifted": remembers,
		"normal":         ends, "normal,extremes": declines,
	} {
		t.Run(distributions, func(t *testing.T) {
			t.Parallel()
			impls := append(slices.Sorted(maps.Keys(want)), "cuda/right")
			judgeRedTeam(t, want, "softmax", "cuda/kernels/softmax.cu", "softmax.cu", "--impl",
				strings.Join(impls, ","), "--distribution", distributions)
		})
	}
}

// judgeRedTeam runs a file of testdata/red_team in place of an operator's file and checks the results.
func judgeRedTeam(t *testing.T, want map[string]rejection, operator, at, file string, args ...string) {
	args = append([]string{
		operator, "--pass", "forward", "--dtype", "fp32", "--layout", "contiguous",
		"--dims", "rows=6,cols=300",
	}, args...)
	records := compareOver(t, map[string]string{at: "red_team/" + file}, args...)
	for name, how := range want {
		if err := how.holds(of(records, name, op.Forward)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, r := range records {
		if strings.HasSuffix(r.Variant, "forges_the_report") {
			if r.Status != op.StatusUnsupported || strings.ContainsAny(r.Message, "\x1b\r\n") {
				t.Errorf("%s: %v with the message %q, want one line without control characters", r.Impl,
					r.Status, r.Message)
			}
		}
	}
	checkRest(t, without(records, "forges_the_report"), op.Forward, want)
}

func without(records []result, variant string) []result {
	var kept []result
	for _, r := range records {
		if r.Variant != variant {
			kept = append(kept, r)
		}
	}
	return kept
}

// TestOwnFunctionChoosesNoData: a user's function may raise on strided tensors, on which it is then not
// judged, but not on data.
func TestOwnFunctionChoosesNoData(t *testing.T) {
	args := []string{
		"compare", "softmax", "--add", "testdata/red_team/own_declines.py", "--impl", "mine", "--pass",
		"forward", "--dtype", "fp32", "--dims", "rows=6,cols=300",
		"--distribution", "normal,extremes", "--layout", "contiguous,transposed", "--device", "cpu", "--json",
		"--db", filepath.Join(t.TempDir(), "r.db"),
	}
	cmd := exec.Command("triad", args...)
	cmd.Env = append(os.Environ(), "TRIAD_PYTHON="+testPython(t))
	out, _ := cmd.Output()
	if cmd.ProcessState.ExitCode() != int(session.ExitBad) {
		t.Fatalf("exit %d, want 1\n%s", cmd.ProcessState.ExitCode(), out)
	}
	ended := map[string]string{}
	for line := range strings.Lines(string(out)) {
		var r result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		ended[r.Layout+" "+r.Distribution] = r.Status.String() + " " + r.Message
	}
	for what, want := range map[string]string{
		"contiguous normal":   "PASS ",
		"contiguous extremes": "FAIL it declines these values, and takes others",
		"transposed normal":   "UNSUPPORTED it raises ValueError on strided tensors: only dense tensors",
	} {
		if !strings.HasPrefix(ended[what], want) {
			t.Errorf("%s: %q, want %q", what, ended[what], want)
		}
	}
}

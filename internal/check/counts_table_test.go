package check

import (
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"triad/internal/docpage"
)

// countsFolder holds what Nsight Compute and the emulator counted of the same programs.
const countsFolder = "../../results/published/lab"

// summed are the counts of all launches of a kernel, by name.
type summed map[string]float64

func (s summed) perLaunch(names ...string) (sum float64) {
	for _, name := range names {
		sum += s[name]
	}
	return sum / s["launches"]
}

var (
	kernelOfRow = regexp.MustCompile(`(\w+)(?:<[^(]*>)?(?:\(|$)`)
	profiledSum = regexp.MustCompile(`^(?:l1tex|smsp)__\w+\.sum$`)
)

// readCountsFile reads the rows of a file of counts, and adds them up by program and kernel.
func readCountsFile(t *testing.T, name string) (all map[string]summed, order []string) {
	t.Helper()
	file, err := os.Open(filepath.Join(countsFolder, name))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r := csv.NewReader(file)
	r.Comment = '#'
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	all = map[string]summed{}
	for _, row := range rows[1:] {
		key := row[0] + " " + kernelOfRow.FindStringSubmatch(row[1])[1]
		if all[key] == nil {
			all[key], order = summed{}, append(order, key)
		}
		for i, column := range rows[0][2:] {
			n, err := strconv.ParseFloat(row[i+2], 64)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			all[key][column] += n
			if i == 0 && profiledSum.MatchString(column) { // a row is a launch
				all[key]["launches"]++
			}
		}
	}
	return all, order
}

const (
	ofMemory = "l1tex__t_%s_pipe_lsu_mem_global_op_%s.sum"
	ofShared = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_%s.sum"
)

// compared lists the counts of a launch by both, in the order of the table. Lanes are those of an instruction
// on the GPU and those of a stretch of code in the emulator.
func compared(emulated, gpu summed) [][2]float64 {
	global := func(what string, ops ...string) (names []string) {
		for _, op := range ops {
			names = append(names, fmt.Sprintf(ofMemory, what, op))
		}
		return names
	}
	lanes := [2]float64{
		emulated["run lanes"] / max(1, emulated["run"]),
		gpu["smsp__thread_inst_executed.sum"] / gpu["smsp__inst_executed.sum"],
	}
	shared := gpu.perLaunch(fmt.Sprintf(ofShared, "ld"), fmt.Sprintf(ofShared, "st"),
		fmt.Sprintf(ofShared, "atom"))
	ops := []string{"ld", "st", "red", "atom"}
	return [][2]float64{
		{emulated.perLaunch("requests"), gpu.perLaunch(global("requests", ops...)...)},
		{emulated.perLaunch("sectors"), gpu.perLaunch(global("sectors", ops...)...)},
		{emulated.perLaunch("wavefronts"), shared},
		lanes,
		{emulated.perLaunch("part"), gpu.perLaunch("smsp__sass_branch_targets_threads_divergent.sum")},
	}
}

// near is the largest difference that counts as agreement.
const near = 0.05

func agree(pair [2]float64) bool { return math.Abs(pair[0]-pair[1]) <= near*pair[1] }

// TestTableOfCounts: the table of counts is that of the recorded files, and at least 20 kernels agree in
// requests, sectors and wavefronts.
func TestTableOfCounts(t *testing.T) {
	emulated, _ := readCountsFile(t, "counts_emulator.csv")
	gpu, order := readCountsFile(t, "counts_ncu.csv")
	reasons, text := reasonsToDiffer(t), &strings.Builder{}
	text.WriteString("| program | kernel | requests | sectors | wavefronts | lanes | diverged | differs, " +
		"since |\n|---|---|--:|--:|--:|--:|--:|---|\n")
	same := 0
	for _, key := range order {
		e := emulated[key]
		if e == nil {
			t.Errorf("the emulator counted no %s", key)
			continue
		}
		pairs := compared(e, gpu[key])
		program, kernel, _ := strings.Cut(key, " ")
		fmt.Fprintf(text, "| %s | %s |", program, kernel)
		for i, pair := range pairs {
			digits := 0
			if i == 3 { // lanes
				digits = 1
			}
			left, right := strconv.FormatFloat(pair[0], 'f', digits, 64),
				strconv.FormatFloat(pair[1], 'f', digits, 64)
			if left == right || agree(pair) && i != 3 {
				fmt.Fprintf(text, " %s |", right)
			} else {
				fmt.Fprintf(text, " %s, GPU %s |", left, right)
			}
		}
		differs := slices.ContainsFunc(pairs[:3], func(p [2]float64) bool { return !agree(p) })
		if !differs {
			same++
		} else if reasons[key] == "" {
			t.Errorf("%s differs, and %s does not say why", key, "counts_reasons.csv")
		}
		if !differs && reasons[key] != "" {
			t.Errorf("%s agrees: counts_reasons.csv need not say why it differs", key)
		}
		fmt.Fprintf(text, " %s |\n", reasons[key])
	}
	if same < 20 {
		t.Errorf("%d kernels agree, want at least 20", same)
	}
	fmt.Fprintf(text, "\n%d of %d kernels agree in requests, sectors and wavefronts within %.0f %%.\n", same,
		len(order), 100*near)
	docpage.Is(t, filepath.Join(countsFolder, "counts.md"), "counts", text.String(), *updatePage,
		"go test ./internal/check -run TableOfCounts -update")
}

// reasonsToDiffer reads why kernels differ.
func reasonsToDiffer(t *testing.T) map[string]string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join(countsFolder, "counts_reasons.csv"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(file)) {
		program, rest, _ := strings.Cut(strings.TrimSpace(line), ",")
		kernel, why, _ := strings.Cut(rest, ",")
		all[program+" "+kernel] = why
	}
	return all
}

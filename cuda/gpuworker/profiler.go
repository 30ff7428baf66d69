package gpuworker

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"triad/internal/stats"
	"triad/internal/worker"
)

// Profiler is NVIDIA's ncu, which runs each kernel several times and counts what it does.
type Profiler struct{ Path, Version string }

// FindProfiler finds ncu: on PATH, or in the toolkit that CUDA_HOME or CUDA_PATH names or that lies in the
// usual places. The error is a *backend.Unavailable.
func FindProfiler(ctx context.Context, getenv func(string) string) (Profiler, error) {
	path, version, err := findTool(ctx, "ncu", getenv)
	return Profiler{path, version}, err
}

// The metrics requested from ncu, in addition to the warps that wait for each reason.
const (
	metricTime      = "gpu__time_duration.sum"
	metricMemory    = "dram__throughput.avg.pct_of_peak_sustained_elapsed"
	metricL2        = "lts__throughput.avg.pct_of_peak_sustained_elapsed"
	metricIssue     = "smsp__issue_active.avg.pct_of_peak_sustained_active"
	metricWarps     = "sm__warps_active.avg.pct_of_peak_sustained_active"
	metricRegisters = "launch__registers_per_thread"
	stallBegin      = "smsp__average_warps_issue_stalled_"
	stallEnd        = "_per_issue_active.ratio"
)

// stallReasons lists the reasons of a resident warp not to issue, in ncu's words. "selected" (it issues) is
// not one.
var stallReasons = []string{
	"long_scoreboard", "short_scoreboard", "barrier", "membar", "wait", "sleeping", "gmma",
	"math_pipe_throttle", "mio_throttle", "lg_throttle", "tex_throttle", "drain", "imc_miss",
	"no_instruction", "branch_resolving", "dispatch_stall", "not_selected",
}

// Under returns the command of a worker under ncu, which writes its counts to the file log.
func (p Profiler) Under(log string, c worker.Command) worker.Command { return p.under(log, c) }

// UnderInCalls does the same for a worker that starts and stops the profiler around each call of an
// implementation, so that its other launches are not counted.
func (p Profiler) UnderInCalls(log string, c worker.Command) worker.Command {
	c.Env = append(slices.Clone(c.Env), "TRIAD_PROFILED=1")
	return p.under(log, c, "--profile-from-start", "off")
}

func (p Profiler) under(log string, c worker.Command, more ...string) worker.Command {
	metrics := []string{
		metricTime, metricMemory, metricL2, metricIssue, metricWarps, metricRegisters,
	}
	for _, reason := range stallReasons {
		metrics = append(metrics, stallBegin+reason+stallEnd)
	}
	c.Args = slices.Concat([]string{
		"--target-processes", "all", "--clock-control", "none", "--csv", "--print-units", "base",
		"--metrics", strings.Join(metrics, ","), "--log-file", log,
	}, more, []string{c.Path}, c.Args)
	c.Path = p.Path
	return c
}

// Profile holds ncu's counts of a kernel, the median of all launches of one grid. The shares are percentages
// of the GPU's peak; a metric that the GPU does not count is null.
type Profile struct {
	Kernel    string   `json:"kernel"`
	Grid      string   `json:"grid"`
	Block     string   `json:"block"`
	Launches  int      `json:"launches"`
	TimeNS    float64  `json:"time_ns"`
	Memory    *float64 `json:"memory_percent"` // throughput of device memory
	L2        *float64 `json:"l2_percent"`     // throughput of the L2 cache
	Issue     *float64 `json:"issue_percent"`  // cycles in which a scheduler issues
	Warps     *float64 `json:"warps_percent"`  // resident warps
	Registers int      `json:"registers"`      // of a thread
	Stalls    []Stall  `json:"stalls"`         // the most frequent first
}

// Stall is a reason for which warps waited, with their mean number per issue.
type Stall struct {
	Reason string  `json:"reason"`
	Warps  float64 `json:"warps"`
}

// ErrNoCounters is the error of a GPU whose counters this user may not read.
var ErrNoCounters = errors.New("ncu may not read this GPU's counters: run as root, or have the " +
	"administrator allow it (NVreg_RestrictProfilingToAdminUsers=0)")

// ReadProfiles reads the files *.csv that Under made ncu write into a folder, the longest kernels first.
func ReadProfiles(folder string) ([]Profile, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.csv"))
	if err != nil {
		return nil, fmt.Errorf("list what ncu wrote into %s: %w", folder, err)
	}
	all := map[launch]map[string][]float64{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read what ncu wrote: %w", err)
		}
		if strings.Contains(string(text), "ERR_NVGPUCTRPERM") {
			return nil, ErrNoCounters
		}
		if err := readCounts(string(text), all); err != nil {
			return nil, fmt.Errorf("read what ncu wrote, %s: %w", file, err)
		}
	}
	var profiles []Profile
	for of, counts := range all {
		profiles = append(profiles, profile(of, counts))
	}
	slices.SortFunc(profiles, func(a, b Profile) int {
		return cmp.Or(cmp.Compare(b.TimeNS, a.TimeNS), cmp.Compare(a.Kernel, b.Kernel),
			cmp.Compare(a.Grid, b.Grid))
	})
	return profiles, nil
}

// launch is a kernel with the size of its grid and of its blocks.
type launch struct{ kernel, grid, block string }

// readCounts adds one file's values: lines of kernel, grid, block, metric and value, between lines that begin
// with "==" and the program's own output. It skips a line that was cut off when the worker ended.
func readCounts(text string, all map[launch]map[string][]float64) error {
	var head []string
	var at [5]int
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, `"`) {
			continue
		}
		row, err := csv.NewReader(strings.NewReader(line)).Read()
		switch {
		case head == nil && err != nil:
			return err
		case head == nil:
			head = row
			for i, name := range []string{
				"Kernel Name", "Grid Size", "Block Size", "Metric Name", "Metric Value",
			} {
				if at[i] = slices.Index(head, name); at[i] < 0 {
					return fmt.Errorf("it has no column %q", name)
				}
			}
			continue
		case err != nil || len(row) != len(head):
			continue
		}
		value, err := strconv.ParseFloat(strings.ReplaceAll(row[at[4]], ",", ""), 64)
		if err != nil {
			continue // "n/a": this GPU has no such counter
		}
		of := launch{shortKernel(row[at[0]]), dimensions(row[at[1]]), dimensions(row[at[2]])}
		if all[of] == nil {
			all[of] = map[string][]float64{}
		}
		all[of][row[at[3]]] = append(all[of][row[at[3]]], value)
	}
	return nil
}

var (
	kernelNamespaces = regexp.MustCompile(`\b\w+::|<unnamed>::|\(anonymous namespace\)::`)
	kernelCasts      = regexp.MustCompile(`\((?:bool|int|long|unsigned int|unsigned long)\)`)
)

// shortKernel returns the name of a kernel with its template arguments, without its namespaces and
// parameters.
func shortKernel(signature string) string {
	name := strings.TrimPrefix(kernelCasts.ReplaceAllString(signature, ""), "void ")
	name = kernelNamespaces.ReplaceAllString(name, "")
	depth := 0
	for i, c := range name {
		switch c {
		case '<':
			depth++
		case '>':
			depth--
		case '(':
			if depth == 0 {
				return name[:i]
			}
		}
	}
	return name
}

// dimensions returns "8192" for "(8192, 1, 1)" and "64x2" for "(64, 2, 1)".
func dimensions(size string) string {
	parts := strings.Split(strings.Trim(size, "() "), ", ")
	for len(parts) > 1 && parts[len(parts)-1] == "1" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "x")
}

func profile(of launch, counts map[string][]float64) Profile {
	median := func(metric string) float64 {
		if len(counts[metric]) == 0 {
			return 0
		}
		return stats.Median(counts[metric])
	}
	share := func(metric string) *float64 {
		if len(counts[metric]) == 0 {
			return nil
		}
		value := median(metric)
		return &value
	}
	p := Profile{
		Kernel: of.kernel, Grid: of.grid, Block: of.block, Launches: len(counts[metricTime]),
		TimeNS: median(metricTime), Memory: share(metricMemory), L2: share(metricL2),
		Issue: share(metricIssue), Warps: share(metricWarps),
		Registers: int(median(metricRegisters)), Stalls: []Stall{},
	}
	for _, reason := range stallReasons {
		if warps := median(stallBegin + reason + stallEnd); warps > 0 {
			p.Stalls = append(p.Stalls, Stall{reason, warps})
		}
	}
	slices.SortStableFunc(p.Stalls, func(a, b Stall) int { return cmp.Compare(b.Warps, a.Warps) })
	return p
}

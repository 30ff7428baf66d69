package gpuworker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"triad/internal/subprocess"
	"triad/internal/worker"
)

// Sanitizers lists the tools of compute-sanitizer, each of which finds what the others cannot: accesses out
// of bounds or misaligned; races in shared memory; reads of uninitialised memory; barriers that not every
// thread reaches.
var Sanitizers = []string{"memcheck", "racecheck", "initcheck", "synccheck"}

// Sanitizer is NVIDIA's compute-sanitizer.
type Sanitizer struct{ Path, Version string }

// FindSanitizer finds compute-sanitizer: on PATH, or in the toolkit that CUDA_HOME or CUDA_PATH names or that
// lies in the usual places. The error is a *backend.Unavailable.
func FindSanitizer(ctx context.Context, getenv func(string) string) (Sanitizer, error) {
	path, version, err := findTool(ctx, "compute-sanitizer", getenv)
	return Sanitizer{path, version}, err
}

// findTool finds a tool of the CUDA toolkit, and asks it for its version.
func findTool(ctx context.Context, name string, getenv func(string) string) (path, version string,
	err error,
) {
	var places []string
	for _, folder := range filepath.SplitList(getenv("PATH")) {
		places = append(places, filepath.Join(folder, name))
	}
	for _, home := range []string{getenv("CUDA_HOME"), getenv("CUDA_PATH"), "/usr/local/cuda", "/opt/cuda"} {
		if home != "" {
			places = append(places, filepath.Join(home, "bin", name), filepath.Join(home, name, name))
		}
	}
	at := slices.IndexFunc(places, executable)
	if at < 0 {
		return "", "", unavailable("no %s: it is part of the CUDA toolkit; put it on PATH, or name "+
			"the toolkit with CUDA_HOME", name)
	}
	out, err := subprocess.Run(ctx, subprocess.Command{
		Path: places[at], Args: []string{"--version"},
		Deadline: 20 * time.Second,
	})
	if err != nil {
		return "", "", unavailable("cannot use %s: %v", places[at], err)
	}
	return places[at], toolVersion.FindString(out), nil
}

var toolVersion = regexp.MustCompile(`\d{4}\.\d+[\d.]*`)

// Under returns the command of a worker under a tool, which writes a report of each process into the folder
// reports. A flag makes the worker neither guard its buffers nor, for initcheck, fill them: the tool could
// not see past the guards, nor through the fill.
func (s Sanitizer) Under(tool, reports string, c worker.Command) worker.Command {
	c.Args = slices.Concat(options(tool, reports, 10000), []string{c.Path}, c.Args, []string{"--under", tool})
	c.Path = s.Path
	return c
}

// Program returns the command of a user's program under a tool, with reports as in Under.
func (s Sanitizer) Program(tool, reports, program string, args []string) subprocess.Command {
	all := options(tool, reports, 1000)
	if tool == "memcheck" {
		all = append(all, "--leak-check", "full")
	}
	return subprocess.Command{Path: s.Path, Args: append(append(all, program), args...)}
}

// options returns the options of a tool, which writes at most so many findings for each process into reports.
func options(tool, reports string, most int) []string {
	return []string{
		"--tool", tool, "--log-file", filepath.Join(reports, tool+"-%p.txt"), "--show-backtrace", "no",
		"--print-limit", strconv.Itoa(most),
	}
}

// Finding is one mistake that a tool found, with the number of times in one place.
type Finding struct {
	Tool   string `json:"tool"`
	What   string `json:"what"`   // "Invalid __global__ write of size 4 bytes"
	Kernel string `json:"kernel"` // "" if the tool names none
	File   string `json:"file"`   // "" if the code has no line numbers
	Line   int    `json:"line"`
	Count  int    `json:"count"`

	// for a race, the access of the other thread and its place
	Other     string `json:"other,omitempty"` // "Read access"
	OtherFile string `json:"other_file,omitempty"`
	OtherLine int    `json:"other_line,omitempty"`
}

// Report holds a tool's results for all processes of a run.
type Report struct {
	Tool      string `json:"tool"`
	Processes int    `json:"processes"` // watched to their end
	// processes whose report has no summary: they were killed, and the tool's last findings are lost
	Cut      int       `json:"cut"`
	Findings []Finding `json:"findings"`
}

// Clean reports whether the tool watched something to its end and found nothing.
func (r Report) Clean() bool { return r.Processes > 0 && r.Cut == 0 && len(r.Findings) == 0 }

// ReadReports reads what Under made a tool write.
func ReadReports(tool, folder string) (Report, error) {
	r := Report{Tool: tool, Findings: []Finding{}}
	files, err := filepath.Glob(filepath.Join(folder, tool+"-*.txt"))
	if err != nil {
		return r, fmt.Errorf("list the reports of %s: %w", tool, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return r, fmt.Errorf("read a report of %s: %w", tool, err)
		}
		r.add(string(text))
	}
	return r, nil
}

var (
	sanitizerSummary = regexp.MustCompile(`^=+ (?:ERROR|RACECHECK) SUMMARY: (\d+) `)
	// The first line of a finding has its text directly behind the marks; the lines that belong to it are
	// indented.
	sanitizerFinding = regexp.MustCompile(`^=+ (\S.*)$`)
	sanitizerPlace   = regexp.MustCompile(`\bat (.+?)\+0x[0-9a-f]+(?: in (\S+):(\d+))?`)
	sanitizerOther   = regexp.MustCompile(`\band (\w+ access) at .+?\+0x[0-9a-f]+(?: in (\S+):(\d+))?`)
	// What varies from thread to thread and from run to run is not part of a finding.
	sanitizerRace  = regexp.MustCompile(` at .*$`)
	sanitizerNoise = regexp.MustCompile(`^(COMPUTE-SANITIZER|LEAK SUMMARY|Target application|Error: ` +
		`process didn't|Process \d+|This may be|No attachable)`)
)

// add reads the report of one process.
func (r *Report) add(text string) {
	finished := false
	var current *Finding
	flush := func() {
		if current != nil {
			r.count(*current)
		}
		current = nil
	}
	for _, line := range strings.Split(text, "\n") {
		if m := sanitizerSummary.FindStringSubmatch(line); m != nil {
			flush()
			finished = true
			continue
		}
		if m := sanitizerFinding.FindStringSubmatch(line); m != nil {
			flush()
			if sanitizerNoise.MatchString(m[1]) {
				continue
			}
			current = &Finding{Tool: r.Tool, What: strings.TrimRight(sanitizerRace.ReplaceAllString(m[1], ""),
				". "), Count: 1}
		}
		if current == nil {
			continue
		}
		if current.Kernel != "" {
			current.otherSide(line)
			continue
		}
		if m := sanitizerPlace.FindStringSubmatch(line); m != nil {
			current.Kernel, current.File = m[1], filepath.Base(m[2])
			if m[2] == "" {
				current.File = ""
			}
			current.Line, _ = strconv.Atoi(m[3])
		}
	}
	flush()
	if finished {
		r.Processes++
	} else {
		r.Cut++
	}
}

// otherSide sets the second side of a race from a line that has it.
func (f *Finding) otherSide(line string) {
	m := sanitizerOther.FindStringSubmatch(line)
	if m == nil || f.Other != "" {
		return
	}
	f.Other = m[1]
	if m[2] != "" {
		f.OtherFile = filepath.Base(m[2])
		f.OtherLine, _ = strconv.Atoi(m[3])
	}
}

// count adds a finding to those of the same place.
func (r *Report) count(f Finding) {
	at := slices.IndexFunc(r.Findings, func(o Finding) bool {
		o.Count = f.Count
		return o == f
	})
	if at < 0 {
		r.Findings = append(r.Findings, f)
		return
	}
	r.Findings[at].Count++
}

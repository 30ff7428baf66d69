package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"triad"
	"triad/cmd/triad/flags"
	"triad/internal/need"
	"triad/internal/op"
	"triad/internal/runsetup"
	"triad/internal/session"
	"triad/internal/truth"
)

// TestFindingsPage: the page of findings matches the files of findings.
func TestFindingsPage(t *testing.T) {
	var out bytes.Buffer
	if code := newApp(nil, &out, &out).execute([]string{"ops", "findings"}); code != session.ExitGood {
		t.Fatalf("exit %d: %s", code, &out)
	}
	page, err := os.ReadFile("../../docs/findings.md")
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(page) {
		t.Error("docs/findings.md is not what the findings say: go run ./cmd/triad ops findings > " +
			"docs/findings.md")
	}
	for _, o := range truth.All() {
		for _, f := range o.Findings {
			if !strings.Contains(string(page), "### "+f.ID+"\n") ||
				!strings.Contains(string(page), f.Command) {
				t.Errorf("%s of %s is not on the page", f.ID, o.Spec.Name)
			}
		}
	}
}

var firstVersion = regexp.MustCompile(`[0-9.]+`)

// TestFindingCommands: the command of every finding requests a case that the finding covers.
func TestFindingCommands(t *testing.T) {
	for _, o := range truth.All() {
		for _, f := range o.Findings {
			_, words := f.Shown()
			var options runsetup.Options
			cmd := &cobra.Command{}
			flags.Run(cmd, &options, "both")
			if err := cmd.ParseFlags(words[1:]); err != nil || words[0] != "compare" {
				t.Errorf("%s: %s: %v", f.ID, f.Command, err)
				continue
			}
			request, err := options.Request(triad.Files, cmd.Flags().Args())
			if err != nil || len(request.Operators) != 1 || request.Operators[0] != o {
				t.Errorf("%s: %s: %v", f.ID, f.Command, err)
				continue
			}
			if f.Device != "" && options.Device != f.Device { // "": it happens on every device
				t.Errorf("%s: its command runs on %q, it covers %q", f.ID, options.Device, f.Device)
			}
			plan, err := o.Spec.Expand(request.Options)
			if err != nil {
				t.Fatal(err)
			}
			versions := map[string]string{op.CPUVersion: f.CPU}
			for name, bounds := range f.Versions {
				versions[name] = firstVersion.FindString(bounds)
			}
			covered := slices.ContainsFunc(plan.Cases,
				func(c op.Case) bool { return f.Covers(c, f.Implementations[0], options.Device, versions) })
			asked := slices.ContainsFunc(request.Impls,
				func(prefix string) bool { return strings.HasPrefix(f.Implementations[0], prefix) })
			if !covered || !asked {
				t.Errorf("%s: its command runs no case that it covers: %s", f.ID, f.Command)
			}
		}
	}
}

// TestFindingsShow: what a CPU can show, its command shows: KNOWN, which is a failure only with --strict. If
// torch uses other vector instructions than the fault needs, everything passes, and so may a finding that
// shows only sometimes.
func TestFindingsShow(t *testing.T) {
	python := testPython(t)
	capability, err := exec.Command(python, "-c",
		"import torch; print(torch.backends.cpu.get_cpu_capability())").Output()
	if err != nil {
		t.Fatal(err)
	}
	cpu := strings.TrimSpace(string(capability))
	for _, o := range truth.All() {
		for _, f := range o.Findings {
			if f.Device == "gpu" {
				continue
			}
			shows := f.CPU == "" || f.CPU == cpu
			t.Run(f.ID, func(t *testing.T) {
				inputs := []string{
					"internal/catalog/" + o.Spec.Name, "internal/run/documented_findings.go",
					"requirements.txt",
				}
				need.Covers(t, f.Implementations[0]+" "+f.Pass, inputs...)
				ways := []bool{false}
				if need.Chosen(t, "strict", "strict", inputs...) {
					ways = append(ways, true)
				}
				t.Parallel()
				for _, strict := range ways {
					environment, args := f.Shown()
					args = append(args, "--json", "--db", filepath.Join(t.TempDir(), "r.db"))
					if strict {
						args = append(args, "--strict")
					}
					cmd := exec.Command("triad", args...)
					cmd.Env = append(append(os.Environ(), environment...), "TRIAD_PYTHON="+python)
					out, err := cmd.Output()
					var ended *exec.ExitError
					if err != nil && !errors.As(err, &ended) {
						t.Fatal(err)
					}
					known := 0
					for line := range strings.Lines(string(out)) {
						var r result
						if err := json.Unmarshal([]byte(line), &r); err != nil {
							t.Fatal(err)
						}
						if r.Status == op.StatusKnown && strings.HasPrefix(r.Message, f.ID+": ") {
							known++
						}
					}
					if (known > 0) != shows && (known > 0 || f.Sometimes == "") {
						t.Errorf("%s shows %s %d times on %s:\n%s", f.Command, f.ID, known, cpu, out)
					}
					exit := cmd.ProcessState.ExitCode()
					if bad := exit == int(session.ExitBad); bad != (strict && known > 0) {
						t.Errorf("strict %v: exit %d, %d times KNOWN\n%s", strict, exit, known, out)
					}
				}
			})
		}
	}
}

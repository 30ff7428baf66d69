package pybridge

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"triad/internal/backend"
	"triad/internal/op"
)

// peersParcel is the folder of the peers: public kernels of other projects, whose rows stand next to ours.
var peersParcel = parcel{"the peers", "requirements-peers.txt", "peers-", 130_000_000, 435_000_000}

// cutileParcel is the folder of cuTile, NVIDIA's tile language, and its compiler.
var cutileParcel = parcel{"cuTile", "requirements-cutile.txt", "cutile-", 162_000_000, 433_000_000}

// PeerFamilies are the prefixes of the rows of cuTile and of the peers. Their absence is reported only if
// they are asked for by name: nothing needs them.
var PeerFamilies = slices.Concat([]string{"cutile"}, op.PeerFamilies)

// beside returns the folder of a parcel that stands beside an interpreter, which need not exist. The
// interpreter itself is not changed: its workers have the folder on their path.
func (e *Environment) beside(p parcel, i Interpreter) (string, error) {
	dir, err := e.dir(p)
	if err != nil {
		return "", err
	}
	parts := strings.SplitN(i.Version, ".", 3)
	// compiled wheels fit one minor version
	return dir + "-" + strings.Join(parts[:min(2, len(parts))], "."), nil
}

// HavePeers returns the peers' folder for an interpreter, "" if it is not there.
func (e *Environment) HavePeers(i Interpreter) string { return e.have(peersParcel, i) }

// HaveCutile returns the folder of cuTile for an interpreter, "" if it is not there.
func (e *Environment) HaveCutile(i Interpreter) string { return e.have(cutileParcel, i) }

func (e *Environment) have(p parcel, i Interpreter) string {
	dir, err := e.beside(p, i)
	if err != nil || !exists(dir) {
		return ""
	}
	return dir
}

// Peers makes the peers' folder for an interpreter if it is missing. wheels is a folder of wheels to take
// them from, "" for the package index.
func (e *Environment) Peers(ctx context.Context, i Interpreter, wheels string) (string, error) {
	return e.add(ctx, peersParcel, i, wheels, "triad will install public kernels of other projects "+
		"(requirements-peers.txt), whose rows stand next to its own")
}

// Cutile makes the folder of cuTile for an interpreter if it is missing; wheels as for Peers.
func (e *Environment) Cutile(ctx context.Context, i Interpreter, wheels string) (string, error) {
	return e.add(ctx, cutileParcel, i, wheels, "triad will install cuda-tile and its compiler")
}

// add makes the folder of a parcel beside an interpreter. question says what it is for.
func (e *Environment) add(ctx context.Context, p parcel, i Interpreter, wheels, question string) (string,
	error,
) {
	dir, err := e.beside(p, i)
	if err != nil {
		return "", err
	}
	if exists(dir) {
		return dir, nil
	}
	if wheels != "" {
		if wheels, err = filepath.Abs(wheels); err != nil {
			return "", err
		}
		if found, _ := filepath.Glob(filepath.Join(wheels, "*.whl")); len(found) == 0 {
			return "", &backend.Unavailable{Sentence: fmt.Sprintf("%s holds no wheels: pip download -r "+
				"%s -d %s makes them, on a machine with a network", wheels, p.requirements, wheels)}
		}
	} else if e.Offline {
		return "", &backend.Unavailable{Sentence: "--offline forbids fetching " + p.name +
			": --wheels FOLDER takes what it needs from a folder"}
	}
	question += ":\n" + e.describe(p, dir)
	if wheels != "" {
		question = "" // nothing is downloaded
	}
	return dir, e.fetch(ctx, p, dir, fetching{
		question: question, declined: "nothing else needs them",
		install: func(ctx context.Context, dir string) error {
			return e.installBeside(ctx, p, i, wheels, dir)
		},
		whole: func(context.Context, string) bool { return true },
	})
}

// installBeside installs the pinned, hashed wheels into a folder, by uv if it is there, else by the pip of an
// environment that is made for this. The list is complete: further dependencies of a wheel are not fetched.
func (e *Environment) installBeside(ctx context.Context, p parcel, i Interpreter, wheels, dir string) error {
	scratch, requirements, err := e.writeRequirements(p)
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	options := []string{"--no-deps", "--require-hashes", "--target", dir, "-r", requirements}
	if wheels != "" {
		options = append(options, "--no-index", "--find-links", wheels)
	}
	venv := filepath.Join(scratch, "venv")
	steps := [][]string{
		{i.Path, "-I", "-m", "venv", venv},
		append([]string{
			filepath.Join(venv, "bin", "python"), "-I", "-m", "pip", "install", "--disable-pip-version-check",
			"--no-input", "--progress-bar", "off",
			"--only-binary", ":all:",
		}, options...),
	}
	if uv, err := exec.LookPath("uv"); err == nil {
		steps = [][]string{append([]string{
			uv, "pip", "install", "--quiet", "--python", i.Path,
			"--only-binary", ":all:",
		}, options...)}
	}
	return e.runSteps(ctx, p, steps)
}

// runSteps runs the commands of a set-up, one after the other, and logs how long they took.
func (e *Environment) runSteps(ctx context.Context, p parcel, steps [][]string) error {
	began := time.Now()
	fmt.Fprintf(e.log(), "triad: making %s\n", p.name)
	for _, step := range steps {
		if err := runStep(ctx, p, step, e.log()); err != nil {
			return err
		}
	}
	fmt.Fprintf(e.log(), "triad: %s: ready (%.0f s)\n", p.name, time.Since(began).Seconds())
	return nil
}

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"triad"
	"triad/cuda/build"
	"triad/internal/catalog"
	"triad/internal/machine"
	"triad/internal/op"
	"triad/internal/record"
	"triad/internal/runsetup"
	"triad/internal/session"
)

// gpuApp returns triad on a machine with an NVIDIA driver and, next to it, a triad-cuda that is a shell
// script. Its output goes into the buffer.
func gpuApp(t *testing.T, script string, environment map[string]string) (*app, *bytes.Buffer) {
	t.Helper()
	folder := t.TempDir()
	if script != "" {
		if err := os.WriteFile(filepath.Join(folder, "triad-cuda"), []byte("#!/bin/sh\n"+script+"\n"),
			0o755); err != nil {
			t.Fatal(err)
		}
	}
	said := &bytes.Buffer{}
	a := newApp(strings.NewReader(""), said, said)
	a.DriverHere = func() bool { return true }
	a.OwnFolder = func() string { return folder }
	a.Getenv = func(name string) string {
		if name == "HOME" {
			return folder
		}
		return environment[name]
	}
	a.Lookup = func(name string) (string, bool) { v, set := environment[name]; return v, set }
	return a, said
}

// facts returns a script that prints the facts of triad-cuda about two GPUs.
func facts(major, driver int) string {
	return fmt.Sprintf(`echo '{"gpus":[`+
		`{"name":"NVIDIA H200","memory_bytes":150000000000,"major":%d,"minor":0},`+
		`{"name":"NVIDIA B","memory_bytes":1,"major":%d,"minor":0}],`+
		`"release":"580.95.05","cuda":%d,"sources":"%s"}'`, major, major, driver,
		build.SourcesHash(triad.Files))
}

func TestGPUIsChosen(t *testing.T) {
	a, said := gpuApp(t, facts(9, 13000), nil)
	g, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: -1},
		machine.EnvironmentFlags{})
	if err != nil || g == nil || said.Len() > 0 {
		t.Fatalf("%+v, %v, said %q", g, err, said)
	}
	options := op.Options{Device: "cpu"}
	g.Apply(&options)
	if options.Device != "gpu" || options.Memory != 150000000000 {
		t.Errorf("options %+v", options)
	}
	m := g.Describe(record.Machine{OS: "linux"})
	if m.GPU != "NVIDIA H200" || m.GPUDriver != "580.95.05" || m.GPUMemoryBytes != 150000000000 ||
		m.OS != "linux" {
		t.Errorf("machine %+v", m)
	}
	if g, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "cpu", GPU: -1},
		machine.EnvironmentFlags{}); g != nil ||
		err != nil {
		t.Errorf("--device cpu: %+v, %v", g, err)
	}
}

// TestGPUByNumber: a number counts the visible GPUs, and the workers see only that GPU.
func TestGPUByNumber(t *testing.T) {
	a, _ := gpuApp(t, facts(9, 13000), map[string]string{"CUDA_VISIBLE_DEVICES": "4, 6"})
	g, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: 1},
		machine.EnvironmentFlags{})
	if err != nil || g.Name != "NVIDIA B" {
		t.Fatalf("%+v, %v", g, err)
	}
	if got := a.With(g).Getenv("CUDA_VISIBLE_DEVICES"); got != "6" {
		t.Errorf("the workers see %q, want 6", got)
	}
	_, err = a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: 2},
		machine.EnvironmentFlags{})
	if f := (*session.Failure)(nil); !errors.As(err, &f) || f.Code != session.ExitUsage ||
		!strings.Contains(f.Error(), "numbers 0 to 1") {
		t.Errorf("--gpu 2: %v", err)
	}
}

// TestGPUFallsBack: if a GPU cannot be used, auto says why and continues without it, and gpu ends with exit
// code 3 and the same sentence.
func TestGPUFallsBack(t *testing.T) {
	for _, c := range []struct{ name, script, want string }{
		{"an old driver", facts(9, 12040), "speaks CUDA 12.4, triad needs 13.0"},
		{
			"no library",
			`echo "error while loading shared libraries: libcuda.so.1: cannot open" >&2; exit 127`,
			"driver is not installed",
		},
		{
			"another version", `echo '{"gpus":[{"name":"x","major":9}],"cuda":13000,"sources":"other"}'`,
			"carries other kernels",
		},
		{"no worker", "", "go install -tags cuda"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			a, said := gpuApp(t, c.script, nil)
			g, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: -1},
				machine.EnvironmentFlags{})
			if g != nil || err != nil || !strings.Contains(said.String(), c.want) ||
				!strings.Contains(said.String(), "kernels run on the CPU") {
				t.Errorf("auto: %+v, %v, said %q, want %q", g, err, said, c.want)
			}
			_, err = a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "gpu", GPU: -1},
				machine.EnvironmentFlags{})
			if f := (*session.Failure)(nil); !errors.As(err, &f) || f.Code != session.ExitNothing ||
				!strings.Contains(f.Error(), c.want) {
				t.Errorf("gpu: %v, want exit code 3 and %q", err, c.want)
			}
		})
	}
}

// TestGPURemark: the constants of the judge were measured on one architecture: results on another carry a
// remark.
func TestGPURemark(t *testing.T) {
	a, said := gpuApp(t, facts(8, 13000), nil)
	if _, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: -1},
		machine.EnvironmentFlags{}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(said.String(),
		"measured on compute capability 9.0; this GPU, NVIDIA H200, has 8.0") {
		t.Errorf("said %q", said)
	}
}

// TestGPUHidden: a variable that hides every GPU reaches the worker too, which then finds none.
func TestGPUHidden(t *testing.T) {
	script := `[ "${CUDA_VISIBLE_DEVICES-unset}" = "" ] && { echo "Error in initialization, for details ` +
		`on: NoDevice"; exit 1; }; ` + facts(9, 13000)
	a, said := gpuApp(t, script, map[string]string{"CUDA_VISIBLE_DEVICES": ""})
	if g, err := a.ChooseGPU(t.Context(), &machine.DeviceFlags{Device: "auto", GPU: -1},
		machine.EnvironmentFlags{}); g != nil || err != nil || !strings.Contains(said.String(),
		"finds no GPU") {
		t.Errorf("%+v, %v, said %q", g, err, said)
	}
}

func TestDeviceFlags(t *testing.T) {
	for _, f := range []machine.DeviceFlags{
		{Device: "tpu", GPU: -1},
		{Device: "cpu", GPU: 0},
		{Device: "auto", GPU: -2},
	} {
		_, err := (&runsetup.CaseFlags{DeviceFlags: f, Pass: "both"}).Options()
		if u := (*session.Failure)(nil); !errors.As(err, &u) || u.Code != session.ExitUsage {
			t.Errorf("%+v: %v, want a usage error", f, err)
		}
	}
}

// TestKernelsForGPUsAreNamed: --kernels names operators of a folder for GPUs, and nothing else.
func TestKernelsForGPUsAreNamed(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"setup", "--kernels", catalog.Names()[0]}, "name the folder"},
		{[]string{"setup", "--gpu", t.TempDir(), "--kernels", "softmix"}, `unknown operator "softmix"`},
	} {
		text, code := runTriad(t, c.args...)
		if code != int(session.ExitUsage) || !strings.Contains(text, c.want) {
			t.Errorf("%v: exit %d, %s; want exit 2 and %q", c.args, code, text, c.want)
		}
	}
}

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"triad"
)

// onFakeGPU puts triad on a machine with the fake GPU.
func onFakeGPU(a *app, folder string) {
	a.driverHere = func() bool { return true }
	a.beside = func() string { return folder }
	a.passed = append(a.passed, fakeFolder, fakeMemory, fakeFree, fakeDoes, "GOCOVERDIR")
	a.rest = func(context.Context, time.Duration) {}
	a.telemetry = func(string, string) card {
		c := &fakeCard{}
		for _, b := range behaviours(os.Getenv) {
			c.throttles, c.shared = c.throttles || b.does == "throttles", c.shared || b.does == "shared"
		}
		return c
	}
	a.files = overlay{fakeCUDA(), triad.Files}
}

// fakeCUDA is the Python worker of the fake GPU over the product's: the same, with a stand-in for what torch.cuda does.
func fakeCUDA() fs.FS {
	worker, err := fs.ReadFile(triad.Files, "pybridge/worker.py")
	if err != nil {
		panic(err)
	}
	const begins = "if __name__ == \"__main__\":\n    main()\n"
	text, ends := strings.CutSuffix(string(worker), begins)
	if !ends {
		panic("pybridge/worker.py does not end with " + begins)
	}
	text += fmt.Sprintf("if __name__ == \"__main__\":\n    sys.path.append(%q)\n    import fake_cuda\n    main(fake_cuda.of(Worker))\n", os.Getenv(fakePython))
	return fstest.MapFS{"pybridge/worker.py": {Data: []byte(text)}}
}

// Each verb tells its story on the fake GPU in testdata/gpu.
func TestFakeGPU(t *testing.T) {
	p := scripts(t, "testdata/gpu")
	home := p.Setup
	p.Setup = func(e *testscript.Env) error {
		folder := filepath.Join(e.WorkDir, "gpu")
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return err
		}
		for name, text := range map[string]string{
			"triad-cuda": "#!/bin/sh\nexec triad-fake-gpu \"$@\"\n",
			"nvcc":       "#!/bin/sh\necho Cuda compilation tools, release 13.0, V13.0.88\n",
			"compute-sanitizer": `#!/bin/sh
[ "$1" = --version ] && { echo Version 2025.3.1; exit; }
tool=$2; log=$(echo "$4" | sed "s/%p/$$/"); shift 8
"$@"
[ -e "` + folder + `/report-$tool" ] && cp "` + folder + `/report-$tool" "$log"
exit 0
`,
		} {
			if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o755); err != nil {
				return err
			}
		}
		e.Setenv(fakeFolder, folder)
		e.Setenv("PATH", folder+string(filepath.ListSeparator)+e.Getenv("PATH"))
		e.Setenv("GOCOVERDIR", os.Getenv("GOCOVERDIR"))
		e.Setenv("TRIAD_PYTHON", os.Getenv("TRIAD_TEST_PYTHON"))
		files, err := filepath.Abs("testdata")
		if err != nil {
			return err
		}
		e.Setenv("FILES", files)
		e.Setenv(fakePython, filepath.Join(files, "gpu"))
		return home(e)
	}
	testscript.Run(t, p)
}

// Package pyparser asks Python's own parser what a Python file of the user's defines. Nothing of the file
// runs.
package pyparser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"triad"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/subprocess"
)

// What the parser may take for one file.
const (
	longest    = 20 * time.Second
	mostMemory = 2 << 30
	mostOutput = 64 << 20
)

// OfPATH is the interpreter that python3 of the PATH is, or that it starts where it is a script.
var OfPATH = sync.OnceValues(func() (string, error) {
	path, err := subprocess.Run(context.Background(), subprocess.Command{
		Path: "python3", Args: []string{"-I", "-S", "-c", "import sys; print(sys.executable)"},
		Deadline: longest,
	})
	if err != nil {
		return "", fmt.Errorf("ask the python3 of the PATH where it is: %w", err)
	}
	return strings.TrimSpace(path), nil
})

// New gives a parser that starts an interpreter once for each text.
func New(interpreter func() (path string, err error)) pyfacts.Parser {
	var known sync.Map
	return func(text string) *pyfacts.File {
		if found, ok := known.Load(text); ok {
			return found.(*pyfacts.File)
		}
		path, err := interpreter()
		if err != nil {
			return &pyfacts.File{Error: err.Error()}
		}
		file, err := parse(path, text)
		if err != nil {
			return &pyfacts.File{Error: fmt.Sprintf("%s cannot parse it: %v", path, err)}
		}
		known.Store(text, file)
		return file
	}
}

// loader runs the modules that follow it, each a name and its text: the last one is the program.
const loader = `import sys, types
for name, text in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), vars(sys.modules[name]))
sys.modules[name].main()
`

// modules are the programs that find the facts, in the order in which they use each other.
var modules = []string{"own_syntax", "own_returns", "own_uses", "own_inline", "own_facts"}

func parse(path, text string) (*pyfacts.File, error) {
	args := []string{"-I", "-S", "-c", loader}
	for _, name := range modules {
		program, err := triad.Files.ReadFile("pybridge/" + name + ".py")
		if err != nil {
			return nil, err
		}
		args = append(args, name, string(program))
	}
	fd, err := unix.MemfdCreate("text", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("make a file in memory: %w", err)
	}
	in := os.NewFile(uintptr(fd), "text")
	defer in.Close()
	if _, err := in.WriteAt([]byte(text), 0); err != nil {
		return nil, err
	}
	out, failed := &bounded{}, &bounded{}
	_, err = subprocess.Run(context.Background(), subprocess.Command{
		Path: path, Args: args, Stdin: in, Stdout: out, Stderr: failed, Deadline: longest,
		Most: subprocess.Usage{Bytes: mostMemory},
	})
	if err != nil {
		lines := strings.Split(strings.TrimSpace(failed.String()), "\n")
		return nil, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
	}
	file := &pyfacts.File{}
	if err := json.Unmarshal([]byte(out.String()), file); err != nil {
		return nil, fmt.Errorf("read what own_facts.py printed: %w", err)
	}
	if file.Error != "" {
		return nil, errors.New(file.Error)
	}
	return file, nil
}

// bounded keeps what is written, up to mostOutput.
type bounded struct{ strings.Builder }

func (b *bounded) Write(data []byte) (int, error) {
	if b.Len()+len(data) > mostOutput {
		return 0, errors.New("it prints too much")
	}
	return b.Builder.Write(data)
}

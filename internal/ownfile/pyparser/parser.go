// Package pyparser asks Python's own parser what a user's Python file defines. Nothing in the file runs.
package pyparser

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"triad"
	"triad/internal/ownfile/pyfacts"
	"triad/internal/subprocess"
)

// Limits of the parser for one file. own_facts.py limits its memory itself.
const (
	longest    = time.Minute
	mostOutput = 64 << 20
)

// OfPATH is the interpreter that python3 in the PATH is, or that it starts if it is a script.
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

// New returns a parser that parses each text once. Its interpreter ends after two seconds without a text.
func New(interpreter func() (path string, err error)) pyfacts.Parser {
	p := &parser{interpreter: interpreter, known: map[string]*pyfacts.File{}}
	return p.parse
}

// parser sends texts to a waiting interpreter.
type parser struct {
	interpreter func() (path string, err error)

	mu       sync.Mutex
	known    map[string]*pyfacts.File
	process  *subprocess.Process // nil: none waits
	texts    *os.File
	answers  *os.File
	answered *bufio.Reader
	failed   *strings.Builder // its stderr
}

func (p *parser) parse(text string) *pyfacts.File {
	p.mu.Lock()
	defer p.mu.Unlock()
	if file := p.known[text]; file != nil {
		return file
	}
	path, err := p.interpreter()
	if err != nil {
		return &pyfacts.File{Error: err.Error()}
	}
	file := &pyfacts.File{}
	if err = p.ask(path, text, file); errors.Is(err, errGone) { // its time without a text was up
		err = p.ask(path, text, file)
	}
	if err == nil && file.Error != "" {
		err = errors.New(file.Error)
	}
	if err != nil {
		file = &pyfacts.File{Error: fmt.Sprintf("%s cannot parse it: %v", path, err)}
	}
	if !errors.Is(err, errGone) { // a text that takes too long is not parsed again
		p.known[text] = file
	}
	return file
}

// loader runs the modules that follow it, each given by a name and its text; the last one is the program.
const loader = `import sys, types
for name, text in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.modules[name] = types.ModuleType(name)
    exec(compile(text, name + ".py", "exec"), vars(sys.modules[name]))
sys.modules[name].main()
`

// modules lists the programs that find the facts, dependencies first.
var modules = []string{"own_syntax", "own_returns", "own_uses", "own_inline", "own_masks", "own_facts"}

func (p *parser) start(path string) error {
	args := []string{"-I", "-S", "-c", loader}
	for _, name := range modules {
		program, err := triad.Files.ReadFile("pybridge/user_files/" + name + ".py")
		if err != nil {
			return err
		}
		args = append(args, name, string(program))
	}
	stdin, texts, err := os.Pipe()
	if err != nil {
		return err
	}
	defer stdin.Close()
	answers, stdout, err := os.Pipe()
	if err != nil {
		return errors.Join(err, texts.Close())
	}
	defer stdout.Close()
	p.failed = &strings.Builder{}
	p.process, err = subprocess.Start(subprocess.Command{
		Path: path, Args: args, Stdin: stdin, Stdout: stdout, Stderr: p.failed,
	})
	if err != nil {
		return errors.Join(err, texts.Close(), answers.Close())
	}
	p.texts, p.answers, p.answered = texts, answers, bufio.NewReader(io.LimitReader(answers, mostOutput))
	return nil
}

// errGone: there is no interpreter. It did not start, or ended by itself.
var errGone = errors.New("it ended")

// ask makes the interpreter parse a text. It ends one that fails, takes too long or prints too much.
func (p *parser) ask(path, text string, file *pyfacts.File) error {
	if p.process == nil {
		if err := p.start(path); err != nil {
			return fmt.Errorf("%w: %w", errGone, err)
		}
	}
	late := time.Now().Add(longest)
	err := errors.Join(p.texts.SetWriteDeadline(late), p.answers.SetReadDeadline(late))
	if err == nil {
		_, err = fmt.Fprintf(p.texts, "%d\n%s", len(text), text)
	}
	var line []byte
	if err == nil {
		line, err = p.answered.ReadBytes('\n')
	}
	if err == nil {
		p.answered.Reset(io.LimitReader(p.answers, mostOutput))
		return json.Unmarshal(line, file)
	}
	if p.process.Wait(100 * time.Millisecond) { // another process may have its number
		err = fmt.Errorf("%w: %w", errGone, err)
	} else {
		p.process.End()
	}
	p.process = nil
	lines := strings.Split(strings.TrimSpace(p.failed.String()), "\n")
	return errors.Join(fmt.Errorf("%w: %s", err, lines[len(lines)-1]), p.texts.Close(), p.answers.Close())
}

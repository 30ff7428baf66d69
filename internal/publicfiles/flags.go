package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"triad/internal/declaration"
	"triad/internal/ownfile"
	"triad/internal/ownfile/binding"
	"triad/internal/ownfile/cfacts"
	"triad/internal/ownfile/pyparser"
)

// between stands between two lines in the manifest.
const between = " | "

// splitFlags splits the flags of an entry at blanks outside of double quotes. A line above a function is no
// flag: lines holds these.
func splitFlags(flags string) (words, lines []string, err error) {
	for _, sign := range []string{binding.CUDASign, binding.PythonSign} {
		if strings.HasPrefix(flags, sign+" triad:") {
			return nil, strings.Split(flags, between), nil
		}
	}
	word, inside, quoted := "", false, false
	for _, c := range flags + " " {
		switch {
		case c == '"':
			inside, quoted = true, !quoted
		case c == ' ' && !quoted:
			if inside {
				words = append(words, word)
			}
			word, inside = "", false
		default:
			word, inside = word+string(c), true
		}
	}
	if quoted {
		return nil, nil, errors.New(`a " is not closed`)
	}
	return words, nil, nil
}

// withLines copies the repository of a file into a folder of its own, in which the lines stand above the
// functions that they fit, and returns the asker for that folder.
func (a asker) withLines(f *public, lines []string) (there asker, remove func(), err error) {
	folder, err := os.MkdirTemp("", "publicfiles")
	if err != nil {
		return a, nil, err
	}
	there, remove = a, func() { _ = os.RemoveAll(folder) }
	there.folder = folder
	repository := strings.ReplaceAll(f.repository, "/", "+")
	err = os.CopyFS(filepath.Join(folder, repository), os.DirFS(filepath.Join(a.folder, repository)))
	if err != nil {
		return a, remove, fmt.Errorf("copy %s: %w", f.repository, err)
	}
	text, err := os.ReadFile(there.place(f))
	if err != nil {
		return a, remove, err
	}
	with, err := above(f.path, string(text), lines)
	if err != nil {
		return a, remove, fmt.Errorf("%s/%s: %w", f.repository, f.path, err)
	}
	return there, remove, os.WriteFile(there.place(f), []byte(with), 0o644)
}

// above returns a text with each line above the function whose parameters it names most; of functions alike,
// each line goes to the next one.
func above(path, text string, lines []string) (string, error) {
	r := binding.Request{Path: path, Parse: pyparser.New(pyparser.OfPATH)}
	sign := binding.CUDASign
	file := ownfile.Read(r, text, nil)
	if r.IsPython() {
		sign, file = binding.PythonSign, ownfile.ReadPython(text, r.Parse)
	}
	type placed struct {
		line declaration.Line
		at   int
	}
	var all []placed
	for _, line := range lines {
		found, err := declaration.Find(line, sign)
		if err != nil || len(found) != 1 {
			return "", fmt.Errorf("%s is no line: %w", line, err)
		}
		var best cfacts.Function
		most := 0
		for _, fn := range file.Functions {
			n := named(fn, found[0])
			taken := slices.ContainsFunc(all, func(p placed) bool { return p.at == fn.Line })
			if n > most && !taken {
				best, most = fn, n
			}
		}
		if most == 0 {
			return "", fmt.Errorf("no function has the parameters of %s", line)
		}
		all = append(all, placed{found[0], best.Line})
	}
	slices.SortFunc(all, func(a, b placed) int { return b.at - a.at }) // so that places stay right
	split := strings.Split(text, "\n")
	for _, p := range all {
		var ok bool
		if split, _, ok = p.line.Above(split, p.at-1, sign); !ok {
			return "", fmt.Errorf("the file has no line %d", p.at)
		}
	}
	return strings.Join(split, "\n"), nil
}

// named counts the words of a line that name a parameter of a function.
func named(fn cfacts.Function, line declaration.Line) (n int) {
	for _, w := range line.Words {
		for _, name := range strings.Split(w.Value, "*") {
			if slices.ContainsFunc(fn.Params, func(p cfacts.Param) bool { return p.Name == name }) {
				n++
			}
		}
	}
	return n
}

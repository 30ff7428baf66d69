package program

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"triad/cuda/build"
	"triad/internal/backend"
	"triad/internal/op"
	"triad/internal/tensor"
)

// kernelMain makes a program of a kernel file: a main() that makes the call of WriteCall.
const kernelMain = "\n#include \"cuemu/kernel_main.h\"\n"

// BuildKernel builds a program from a kernel file, named as in Builder.Kernels, that reports every access
// of its kernels; with counts, also every execution of a line. Its argument is a file of WriteCall. A file
// that does not compile gives a *build.Error.
func BuildKernel(ctx context.Context, b *build.Builder, file string, counts bool) (Program, error) {
	set, err := build.Gather(b.Sources, build.KernelFile(file))
	if err != nil {
		return Program{}, err
	}
	asked, err := set.Flags()
	if err != nil {
		return Program{}, err
	}
	emulated, err := build.CheckFlags(asked)
	if err != nil {
		return Program{}, err
	}
	flags := slices.Concat(checkedFlags(b), []string{"-Icuda", "-Icuda/include"}, emulated)
	if counts {
		flags = append(flags, countsFlags(b)...)
	}
	return programOf(ctx, b, set, flags, kernelMain)
}

// WriteCall writes the call of a job for a program of BuildKernel: the names of the kernel, its attributes,
// words and tensors as lines of text, then the bytes of the inputs.
func WriteCall(w io.Writer, job backend.Job) error {
	i := job.Implementation
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n%v\n%s\n%d", strings.TrimPrefix(i.Name, "cuda/"), i.Pass, i.Contract,
		len(job.Attrs))
	for _, a := range job.Attrs {
		fmt.Fprintf(&text, " %.17g", a.Number)
	}
	fmt.Fprintf(&text, "\n%d", len(job.Words))
	for _, word := range job.Words {
		fmt.Fprintf(&text, " %d", word)
	}
	fmt.Fprintf(&text, "\n%d\n", len(job.Inputs))
	for _, t := range job.Inputs {
		line := tensorLine(t.Name, t.DType, t.Shape, t.Stride)
		fmt.Fprintf(&text, "%s %d %d\n", line, t.Offset, len(t.Data))
	}
	fmt.Fprintf(&text, "%d\n", len(job.Outputs))
	for _, t := range job.Outputs {
		line := tensorLine(t.Name, t.DType, t.Shape, tensor.Contiguous(t.Shape))
		fmt.Fprintf(&text, "%s 0 %d\n", line, t.Elements()*t.DType.Size())
	}
	if _, err := io.WriteString(w, text.String()); err != nil {
		return fmt.Errorf("write a call: %w", err)
	}
	for _, t := range job.Inputs {
		if _, err := w.Write(t.Data); err != nil {
			return fmt.Errorf("write the input %s of a call: %w", t.Name, err)
		}
	}
	return nil
}

// tensorLine describes a tensor up to its strides.
func tensorLine(name string, dtype op.DType, shape, stride []int64) string {
	words := []string{name, fmt.Sprint(dtype.ABI()), fmt.Sprint(dtype.Size()), fmt.Sprint(len(shape))}
	for _, list := range [][]int64{shape, stride} {
		for _, n := range list {
			words = append(words, fmt.Sprint(n))
		}
	}
	return strings.Join(words, " ")
}

// ownName returns the program's name of a file that addr2line names: embedded files have names relative to
// the build folder.
func ownName(files []string, name string) (string, bool) {
	if slices.Contains(files, name) {
		return name, true
	}
	at := slices.IndexFunc(files, func(file string) bool {
		return !filepath.IsAbs(file) && strings.HasSuffix(filepath.ToSlash(name), "/src/"+file)
	})
	if at < 0 {
		return "", false
	}
	return files[at], true
}

// Package dump writes the tensors of cases as safetensors.
package dump

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"triad/internal/judge"
	"triad/internal/op"
	"triad/internal/tensor"
)

// Dumper writes the tensors of every case as safetensors: DIR/<op>-<pass>-<case key>/inputs, truth, and one
// file for each implementation.
type Dumper struct{ Dir string }

// Ready makes the folder, if one is named: a run whose tensors could not be written must not begin.
func (d Dumper) Ready() error {
	if d.Dir == "" {
		return nil
	}
	if err := os.MkdirAll(d.Dir, 0o755); err != nil {
		return op.Usagef("--dump %s: %w: name a folder that can be written", d.Dir, err)
	}
	if err := unix.Access(d.Dir, unix.W_OK); err != nil {
		return op.Usagef("--dump %s: %w: name a folder that can be written", d.Dir, err)
	}
	return nil
}

// Case writes inputs.safetensors, and truth.safetensors with the fp64 truth, error bound and simulated result
// of each output.
func (d Dumper) Case(c op.Case, inputs []tensor.Tensor, truth judge.Truth) error {
	description, err := c.MarshalJSON()
	if err != nil {
		return fmt.Errorf("dump a case of %s: %w", c.Op, err)
	}
	metadata := map[string]string{"case": string(description)}
	if err := d.write(c, "inputs", inputs, metadata); err != nil {
		return err
	}
	var values []tensor.Tensor
	for _, t := range truth.Outputs {
		shape := t.Shape
		if t.Index != nil {
			shape = []int64{int64(len(t.Index))}
		}
		for _, part := range []struct {
			name string
			x    []float64
		}{{"truth", t.R}, {"allowance", t.T}, {"simulated", t.Sim}} {
			v := tensor.New(t.Name+"."+part.name, op.FP64, shape)
			v.SetFloat64s(part.x)
			values = append(values, v)
		}
	}
	metadata["contract"] = truth.Contract
	return d.write(c, "truth", values, metadata)
}

// Outputs writes the outputs of an implementation.
func (d Dumper) Outputs(c op.Case, implementation string, outputs []tensor.Tensor) error {
	return d.write(c, strings.ReplaceAll(implementation, "/", "-"), outputs,
		map[string]string{"implementation": implementation})
}

func (d Dumper) write(c op.Case, name string, tensors []tensor.Tensor, metadata map[string]string) error {
	folder := filepath.Join(d.Dir, fmt.Sprintf("%s-%v-%s", c.Op, c.Pass, c.Key()))
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	file, err := os.Create(filepath.Join(folder, name+".safetensors"))
	if err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	if err := tensor.WriteSafetensors(file, tensors, metadata); err != nil {
		file.Close()
		return fmt.Errorf("dump %s: %w", file.Name(), err)
	}
	if err := file.Close(); err != nil {
		return fmt.Errorf("dump: %w", err)
	}
	return nil
}

package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestEveryValueCompletes: a shell gets the values of each flag that has values, and no file where none is
// meant.
func TestEveryValueCompletes(t *testing.T) {
	anyFile := []string{
		"output", "dump", "parts", "include", "into", "wheels", "profile", "gpu", "write",
	}
	var look func(cmd *cobra.Command)
	look = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, known := cmd.GetFlagCompletionFunc(f.Name); !known && f.Value.Type() != "bool" &&
				!slices.Contains(anyFile, f.Name) && !f.Hidden {
				t.Errorf("%s --%s has no completion", cmd.CommandPath(), f.Name)
			}
		})
		for _, c := range cmd.Commands() {
			if c.Name() != "completion" && !c.Hidden {
				look(c)
			}
		}
	}
	look(newApp(nil, nil, nil).root())
	for line, want := range map[string]string{
		"compare sof":                           "softmax\t",
		"compare softmax --impl cuda/w":         "cuda/warp\n",
		"compare matmul --impl cuda/warpt":      "cuda/warptile\n",
		"compare softmax --dtype fp32,f":        "fp32,fp16\n:",
		"compare flash_attention --attr caus":   "causal=true\ncausal=false\n",
		"compare softmax --limit import":        "import=\n:6",
		"results list --status FL":              "FLAKY\n",
		"results query --saved fl":              "flaky\t",
		"results report las":                    "last\t",
		"results export --format fl":            "flashinfer\n",
		"new mine --from softm":                 "softmax\t",
		"check --limit al":                      "all=\n",
		"sass softmax/sm":                       "softmax/sm90_cluster\n",
		"bench softmax --regime cold,":          "cold,warm\n:",
		"compare softmax --distribution neg_in": "neg_inf_mask\nneg_inf_blocks\n",
	} {
		if text := helpOf(t, append([]string{"__complete"}, strings.Fields(line)...)...); !strings.HasPrefix(
			text, want) {
			t.Errorf("%q proposes %q, want %q", line, text, want)
		}
	}
}

package op

import (
	"math"
	"strconv"
)

// DefaultSeed is the default seed of the inputs: results of different days then refer to the same bits.
const DefaultSeed = 20240229

// reseed changes a shape's attributes that seed random numbers: a file with the default seed's random numbers
// hard-coded is then wrong.
func (s *Spec) reseed(attributes map[string]string, seed uint64) {
	if seed == 0 || seed == DefaultSeed {
		return
	}
	for _, a := range s.Attributes {
		if a.Draws {
			pinned, _ := strconv.ParseInt(attributes[a.Name], 10, 64)
			attributes[a.Name] = strconv.FormatInt(pinned^int64(seed&math.MaxInt32), 10)
		}
	}
}

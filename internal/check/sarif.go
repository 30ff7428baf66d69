package check

import (
	"encoding/json"
	"net/url"
	"path/filepath"
)

// The parts of SARIF 2.1.0, the format of editors and code hosts, that a finding has.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool    sarifTool     `json:"tool"`
		Results []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name    string      `json:"name"`
		Version string      `json:"version"`
		Rules   []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID               string    `json:"id"`
		ShortDescription sarifText `json:"shortDescription"`
		FullDescription  sarifText `json:"fullDescription"`
		Help             sarifText `json:"help"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID           string          `json:"ruleId"`
		RuleIndex        int             `json:"ruleIndex"`
		Level            string          `json:"level"`
		Message          sarifText       `json:"message"`
		Locations        []sarifLocation `json:"locations,omitempty"`
		RelatedLocations []sarifLocation `json:"relatedLocations,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
		Message  *sarifText    `json:"message,omitempty"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
	}
)

// SARIF formats the report as SARIF. File names are relative to folder.
func SARIF(r *Report, folder, version string) ([]byte, error) {
	driver := sarifDriver{Name: "triad check", Version: version}
	number := map[Kind]int{}
	for i, kind := range Kinds {
		a := kind.about()
		number[kind] = i
		driver.Rules = append(driver.Rules, sarifRule{
			ID: string(kind), ShortDescription: sarifText{a.title}, FullDescription: sarifText{a.means},
			Help: sarifText{a.mend},
		})
	}
	one := sarifRun{Tool: sarifTool{driver}, Results: []sarifResult{}}
	for i := range r.Findings {
		f := &r.Findings[i]
		result := sarifResult{
			RuleID: string(f.Kind), RuleIndex: number[f.Kind], Level: "error",
			Message: sarifText{f.Sentence() + ". " + f.about().mend},
		}
		if f.Kind == Leak {
			result.Level = "warning"
		}
		if f.Place.known() {
			result.Locations = []sarifLocation{location(f.Place, folder, "")}
		}
		if f.Other.known() {
			result.RelatedLocations = append(result.RelatedLocations, location(f.Other, folder, otherWord(f)))
		}
		if f.Allocated.known() {
			result.RelatedLocations = append(
				result.RelatedLocations,
				location(f.Allocated, folder, "allocated"),
			)
		}
		one.Results = append(one.Results, result)
	}
	return json.MarshalIndent(sarifLog{
		Schema:  "https://json.schemastore.org/sarif-2.1.0.json",
		Version: "2.1.0", Runs: []sarifRun{one},
	}, "", "  ")
}

func location(at *Place, folder, message string) sarifLocation {
	name := url.URL{Path: filepath.ToSlash(Relative(folder, at.File))}
	l := sarifLocation{Physical: sarifPhysical{
		Artifact: sarifArtifact{name.EscapedPath()}, Region: sarifRegion{at.Line},
	}}
	if message != "" {
		l.Message = &sarifText{message}
	}
	return l
}

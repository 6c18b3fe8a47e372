// Package durations keeps how long each story took when it last ran, from one run of the suite to the next.
package durations

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/onsi/ginkgo/v2/types"
)

// Last is the last run of one story.
type Last struct {
	Seconds float64 `json:"seconds"`
	State   string  `json:"state"` // Ginkgo's word: passed, failed …
}

const file = "durations.json"

// Read returns the last run of each story by its full text, from a directory of reports. There may be none.
func Read(directory string) (map[string]Last, error) {
	last := map[string]Last{}
	content, err := os.ReadFile(filepath.Join(directory, file))
	if errors.Is(err, fs.ErrNotExist) {
		return last, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the last durations: %w", err)
	}
	if err := json.Unmarshal(content, &last); err != nil {
		return nil, fmt.Errorf("reading the last durations: %w", err)
	}
	return last, nil
}

// Write restores the stories that ran over what was written before.
func Write(directory string, report types.Report) error {
	if report.SuiteConfig.DryRun {
		return nil
	}
	last, err := Read(directory)
	if err != nil {
		return err
	}
	for _, spec := range report.SpecReports {
		if spec.LeafNodeType == types.NodeTypeIt && spec.State != types.SpecStateSkipped {
			last[spec.FullText()] = Last{Seconds: spec.RunTime.Seconds(), State: spec.State.String()}
		}
	}
	content, err := json.MarshalIndent(last, "", "  ")
	if err != nil {
		return fmt.Errorf("writing the last durations: %w", err)
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("writing the last durations: %w", err)
	}
	if err := os.WriteFile(filepath.Join(directory, file), content, 0o644); err != nil {
		return fmt.Errorf("writing the last durations: %w", err)
	}
	return nil
}

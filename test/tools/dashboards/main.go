// Dashboards writes the two dashboards for Grafana as JSON, from the tables of operator.go and cluster.go. What they read is
// in docs/metrics.md.
//
//	go run ./dashboards -out ../../config/monitoring/dashboards
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("out", "../../config/monitoring/dashboards", "the `directory` to write to")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

func write(directory string) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("making the directory of the dashboards: %w", err)
	}
	for name, board := range boards {
		text, err := board.json()
		if err == nil {
			err = os.WriteFile(filepath.Join(directory, name), text, 0o644) //nolint:gosec // it is published
		}
		if err != nil {
			return fmt.Errorf("writing %s: %w", name, err)
		}
	}
	return nil
}

// json is what Grafana imports.
func (b board) json() ([]byte, error) {
	built, err := b.build()
	if err != nil {
		return nil, err
	}
	text, err := json.MarshalIndent(built, "", "  ")
	return append(text, '\n'), err
}

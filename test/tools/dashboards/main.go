// Dashboards writes the two dashboards for Grafana as JSON, from the tables of operator.go and cluster.go. What they read is
// in docs/metrics.md. With the address of a Prometheus it draws them instead, one picture each, with what that one saw.
//
//	go run ./dashboards -out ../../config/monitoring/dashboards
//	go run ./dashboards -prometheus http://127.0.0.1:9090 -since 15m -namespace team -name demo -out pictures
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
)

func main() {
	out := flag.String("out", "../../config/monitoring/dashboards", "the `directory` to write to")
	address := flag.String("prometheus", "", "the `URL` of a Prometheus whose data is drawn; empty: write the dashboards")
	since := flag.Duration("since", time.Hour, "how much of its past is drawn")
	namespace := flag.String("namespace", "default", "the namespace of the EtcdCluster that is drawn")
	name := flag.String("name", "", "the `name` of the EtcdCluster that is drawn")
	flag.Parse()
	files, extension := board.json, ".json"
	if *address != "" {
		files, extension = newWindow(*address, *since, *namespace, *name).picture, ".png"
	}
	if err := write(*out, extension, files); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1)
	}
}

// write writes a file for each dashboard.
func write(directory, extension string, file func(board) ([]byte, error)) error {
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("making the directory of the dashboards: %w", err)
	}
	for name, board := range boards {
		name = strings.TrimSuffix(name, ".json") + extension
		text, err := file(board)
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

// newWindow is the past of a Prometheus until now, with one cluster chosen.
func newWindow(address string, since time.Duration, namespace, name string) window {
	end := time.Now()
	return window{address: strings.TrimSuffix(address, "/"), begin: end.Add(-since), end: end,
		chosen: strings.NewReplacer("$__rate_interval", "1m", "$namespace", namespace, "$name", name)}
}

// picture is a dashboard as a PNG.
func (w window) picture(b board) ([]byte, error) {
	wide, high := b.pictureSize()
	canvas := vgimg.PngCanvas{Canvas: vgimg.NewWith(vgimg.UseWH(wide, high), vgimg.UseDPI(110))}
	if err := b.draw(draw.New(canvas), w); err != nil {
		return nil, err
	}
	var file bytes.Buffer
	_, err := canvas.WriteTo(&file)
	return file.Bytes(), err
}

package main

import (
	"bytes"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdxlib"
)

// ofThisTest is what this test itself was built from.
func ofThisTest(t *testing.T) (contents, []string) {
	t.Helper()
	info, isKnown := debug.ReadBuildInfo()
	if !isKnown || len(info.Deps) < 10 {
		t.Fatal("the test does not know what it was built from")
	}
	c := contents{name: "x_linux_amd64", version: "v1.2.3", created: moment, hash: strings.Repeat("ab", 32), goos: "linux", goarch: "amd64"}
	c.read(info)
	want := []string{"pkg:golang/stdlib@" + strings.TrimPrefix(info.GoVersion, "go")}
	for _, m := range info.Deps {
		want = append(want, module{path: m.Path, version: m.Version}.url())
	}
	slices.Sort(want)
	return c, want
}

func TestEachModuleOfAProgramIsInItsCycloneDX(t *testing.T) {
	c, want := ofThisTest(t)
	text, errA := cycloneDX(c)
	again, errB := cycloneDX(c)
	if errA != nil || errB != nil || !bytes.Equal(text, again) {
		t.Fatal("two of the same program differ", errA, errB)
	}
	var bom cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(text), cdx.BOMFileFormatJSON).Decode(&bom); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, component := range *bom.Components {
		got = append(got, component.PackageURL)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	main := bom.Metadata.Component
	if bom.SpecVersion != cdx.SpecVersion1_6 || main.Version != "v1.2.3" || (*main.Hashes)[0].Value != c.hash ||
		bom.Metadata.Timestamp != "2026-03-01T12:00:00Z" || !strings.HasPrefix(bom.SerialNumber, "urn:uuid:") {
		t.Errorf("%+v", bom.Metadata)
	}
	if linked := *(*bom.Dependencies)[0].Dependencies; (*bom.Dependencies)[0].Ref != main.BOMRef || len(linked) != len(want) {
		t.Error("the program depends on", linked)
	}
}

func TestEachModuleOfAProgramIsInItsSPDX(t *testing.T) {
	c, want := ofThisTest(t)
	text, errA := spdxOf(c)
	again, errB := spdxOf(c)
	if errA != nil || errB != nil || !bytes.Equal(text, again) {
		t.Fatal("two of the same program differ", errA, errB)
	}
	document, err := spdxjson.Read(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := spdxlib.ValidateDocument(document); err != nil {
		t.Error(err)
	}
	described, err := spdxlib.GetDescribedPackageIDs(document)
	if err != nil || len(described) != 1 || described[0] != "Program" {
		t.Error(described, err)
	}
	var got []string
	for _, p := range document.Packages[1:] {
		got = append(got, p.PackageExternalReferences[0].Locator)
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%q\nwant %q", got, want)
	}
	main := document.Packages[0]
	if main.PackageVersion != "v1.2.3" || main.PackageChecksums[0].Value != c.hash || len(document.Relationships) != len(want)+1 {
		t.Errorf("%+v", main)
	}
}

func TestAModuleThatIsReplacedIsNamedByWhatIsLinked(t *testing.T) {
	var c contents
	c.read(&debug.BuildInfo{GoVersion: "go1.26.0", Deps: []*debug.Module{
		{Path: "example.com/Old", Version: "v1.0.0", Replace: &debug.Module{Path: "example.com/New", Version: "v1.0.1+incompatible", Sum: "h1:x="}},
	}})
	if got := c.modules[1]; got != (module{"example.com/New", "v1.0.1+incompatible", "h1:x="}) {
		t.Errorf("%+v", got)
	}
	if got := c.modules[1].url(); got != "pkg:golang/example.com/new@v1.0.1%2Bincompatible" {
		t.Error(got)
	}
}

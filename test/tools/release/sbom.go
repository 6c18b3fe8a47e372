package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
	spdxjson "github.com/spdx/tools-golang/json"
	"github.com/spdx/tools-golang/spdx/v2/common"
	spdx "github.com/spdx/tools-golang/spdx/v2/v2_3"

	"github.com/etcdsteward/etcd-steward/test/tools/pack"
)

// contents is what a program was built from, as the linker wrote it into the program.
type contents struct {
	name    string // of the file
	version string
	created time.Time
	hash    string   // sha256 of the program
	program module   // the module that it is a part of
	part    string   // which part
	modules []module // all that is linked into it, with Go's own library
	goos    string
	goarch  string
}

// module is one of Go.
type module struct{ path, version, sum string }

// url names a module for scanners. Such a name is in lower case, and has no plus.
func (m module) url() string {
	return "pkg:golang/" + strings.ToLower(m.path) + "@" + strings.ReplaceAll(m.version, "+", "%2B")
}

// url names the program itself.
func (c contents) url() string { return c.program.url() + "#" + c.part }

// describe writes both SBOMs of a program.
func (r release) describe(p program, on platform) error {
	file := r.binary(p, on)
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading what %s was built from: %w", file, err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("reading a program: %w", err)
	}
	hash := sha256.Sum256(text)
	c := contents{name: p.name() + "_" + on.String(), version: r.version, created: r.created,
		hash: hex.EncodeToString(hash[:]), goos: on.os, goarch: on.arch}
	c.read(info)
	for extension, form := range map[string]func(contents) ([]byte, error){".cdx.json": cycloneDX, ".spdx.json": spdxOf} {
		bill, err := form(c)
		if err != nil {
			return fmt.Errorf("describing %s: %w", c.name, err)
		}
		if err := r.write(c.name+extension, bill); err != nil {
			return err
		}
	}
	return nil
}

// read takes the modules of a program. Where one replaces another, it is the one that was linked.
func (c *contents) read(info *debug.BuildInfo) {
	c.program = module{path: info.Main.Path, version: c.version}
	c.part = strings.TrimPrefix(info.Path, info.Main.Path+"/")
	c.modules = []module{{path: "stdlib", version: strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c.modules = append(c.modules, module{m.Path, m.Version, m.Sum})
	}
}

// tool is what SBOMs say that they come from.
const tool = "etcd-steward-release"

// cycloneDX is the SBOM as CycloneDX 1.6.
func cycloneDX(c contents) ([]byte, error) {
	id := uuid.NewSHA1(uuid.NameSpaceURL, []byte(c.url()+"@"+c.hash))
	bom := cdx.NewBOM()
	bom.SerialNumber = id.URN()
	bom.Metadata = &cdx.Metadata{
		Timestamp: c.created.Format(time.RFC3339),
		Tools:     &cdx.ToolsChoice{Components: &[]cdx.Component{{Type: cdx.ComponentTypeApplication, Name: tool, Version: c.version}}},
		Component: &cdx.Component{
			BOMRef: c.url(), PackageURL: c.url(), Type: cdx.ComponentTypeApplication,
			Name: c.name, Version: c.version,
			Hashes:   &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: c.hash}},
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
			Properties: &[]cdx.Property{
				{Name: "cdx:gomod:build:env:GOOS", Value: c.goos}, {Name: "cdx:gomod:build:env:GOARCH", Value: c.goarch},
			},
		},
	}
	var components []cdx.Component
	var urls []string
	for _, m := range c.modules {
		component := cdx.Component{BOMRef: m.url(), PackageURL: m.url(), Type: cdx.ComponentTypeLibrary, Name: m.path,
			Version: m.version}
		if m.sum != "" {
			component.Properties = &[]cdx.Property{{Name: "go.sum", Value: m.sum}}
		}
		components, urls = append(components, component), append(urls, m.url())
	}
	bom.Components = &components
	bom.Dependencies = &[]cdx.Dependency{{Ref: c.url(), Dependencies: &urls}}
	var text bytes.Buffer
	if err := cdx.NewBOMEncoder(&text, cdx.BOMFileFormatJSON).SetPretty(true).EncodeVersion(bom, cdx.SpecVersion1_6); err != nil {
		return nil, fmt.Errorf("writing CycloneDX: %w", err)
	}
	return text.Bytes(), nil
}

// spdxOf is the SBOM as SPDX 2.3.
func spdxOf(c contents) ([]byte, error) {
	main := packageOf("Program", c.program)
	main.PackageExternalReferences[0].Locator = c.url()
	main.PackageName, main.PrimaryPackagePurpose = c.name, "APPLICATION"
	main.PackageChecksums = []common.Checksum{{Algorithm: common.SHA256, Value: c.hash}}
	main.PackageLicenseDeclared = "Apache-2.0"
	document := &spdx.Document{
		SPDXVersion: spdx.Version, DataLicense: spdx.DataLicense, SPDXIdentifier: "DOCUMENT",
		DocumentName:      c.name + "_" + c.version,
		DocumentNamespace: pack.Repository + "/sbom/" + c.name + "-" + c.version + "-" + c.hash,
		CreationInfo: &spdx.CreationInfo{
			Created:  c.created.Format(time.RFC3339),
			Creators: []common.Creator{{CreatorType: "Tool", Creator: tool + "-" + c.version}},
		},
		Packages:      []*spdx.Package{main},
		Relationships: []*spdx.Relationship{relation("DOCUMENT", common.TypeRelationshipDescribe, main)},
	}
	for i, m := range c.modules {
		linked := packageOf(fmt.Sprintf("Module-%d", i), m)
		document.Packages = append(document.Packages, linked)
		document.Relationships = append(document.Relationships,
			relation(main.PackageSPDXIdentifier, common.TypeRelationshipDependsOn, linked))
	}
	var text bytes.Buffer
	if err := spdxjson.Write(document, &text, spdxjson.Indent("  ")); err != nil {
		return nil, fmt.Errorf("writing SPDX: %w", err)
	}
	return text.Bytes(), nil
}

func packageOf(id string, m module) *spdx.Package {
	p := &spdx.Package{
		PackageName: m.path, PackageSPDXIdentifier: common.ElementID(id), PackageVersion: m.version,
		PackageDownloadLocation: "NOASSERTION", PackageLicenseConcluded: "NOASSERTION",
		PackageLicenseDeclared: "NOASSERTION", PackageCopyrightText: "NOASSERTION", PrimaryPackagePurpose: "LIBRARY",
		PackageExternalReferences: []*spdx.PackageExternalReference{{
			Category: common.CategoryPackageManager, RefType: common.TypePackageManagerPURL, Locator: m.url(),
		}},
	}
	if m.sum != "" {
		p.PackageSourceInfo = "go.sum: " + m.sum
	}
	return p
}

func relation(from common.ElementID, kind string, to *spdx.Package) *spdx.Relationship {
	return &spdx.Relationship{
		RefA:         common.MakeDocElementID("", string(from)),
		RefB:         common.MakeDocElementID("", string(to.PackageSPDXIdentifier)),
		Relationship: kind,
	}
}

package main

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// billOfMaterials writes which modules each program was linked with, as Go recorded it in the program itself.
func billOfMaterials(r release) error {
	for _, p := range r.Platforms {
		info, err := buildinfo.ReadFile(r.program(p))
		if err != nil {
			return err
		}
		bom := cyclonedx.NewBOM()
		bom.Metadata = &cyclonedx.Metadata{
			Timestamp: r.Time.Format("2006-01-02T15:04:05Z"),
			Component: &cyclonedx.Component{
				BOMRef: "ingest", Type: cyclonedx.ComponentTypeApplication, Name: "ingest", Version: r.Version,
				PackageURL: "pkg:golang/" + info.Main.Path + "@" + r.Version,
				Properties: &[]cyclonedx.Property{{Name: "go", Value: info.GoVersion}, {Name: "platform", Value: p.String()}},
			},
		}
		components := []cyclonedx.Component{{BOMRef: "std", Type: cyclonedx.ComponentTypeLibrary, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
			PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
		for _, m := range info.Deps {
			if m.Replace != nil {
				return fmt.Errorf("%s is replaced by %s: a release is built of the modules in go.sum", m.Path, m.Replace.Path)
			}
			sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:"))
			if err != nil {
				return fmt.Errorf("%s: sum %q: %w", m.Path, m.Sum, err)
			}
			url := "pkg:golang/" + m.Path + "@" + m.Version
			components = append(components, cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path, Version: m.Version, PackageURL: url,
				Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(sum)}}})
		}
		bom.Components = &components
		if err := writeFile(r, fmt.Sprintf("ingest_%s_%s.cdx.json", r.Version, p), func(to io.Writer) error {
			return cyclonedx.NewBOMEncoder(to, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
		}); err != nil {
			return err
		}
	}
	return nil
}

// Command kubectl reads the rows of results.ndjson and writes each with the documents that kubectl 1.32 reads from its YAML or
// JSON. The loop is copied from StreamVisitor in k8s.io/cli-runtime, which also uses the decoder of k8s.io/apimachinery.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log"
	"os"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"
)

type row struct {
	// Description of the row.
	Name string `json:"name"`
	// Input.
	Text string `json:"text"`
	// Documents up to the first error, as JSON.
	Documents []string `json:"documents"`
	// Error of the first invalid document.
	Error string `json:"error,omitempty"`
}

// Size of kubectl's buffer.
const buffer = 4096

func decode(text string) ([]string, string) {
	documents := []string{}
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), buffer)
	for {
		extension := runtime.RawExtension{}
		if err := decoder.Decode(&extension); err != nil {
			if errors.Is(err, io.EOF) {
				return documents, ""
			}
			return documents, err.Error()
		}
		raw := bytes.TrimSpace(extension.Raw)
		if len(raw) == 0 || bytes.Equal(raw, []byte("null")) {
			continue
		}
		documents = append(documents, string(raw))
	}
}

func main() {
	rows := bufio.NewScanner(os.Stdin)
	rows.Buffer(nil, 1<<20)
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for rows.Scan() {
		var row row
		if err := json.Unmarshal(rows.Bytes(), &row); err != nil {
			log.Fatal(err)
		}
		row.Documents, row.Error = decode(row.Text)
		if err := out.Encode(row); err != nil {
			log.Fatal(err)
		}
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
}

package v1alpha1

import (
	"encoding/json"
	"fmt"
	"regexp"

	"k8s.io/apimachinery/pkg/api/resource"
)

// The pattern of the schema. The rules of the schema read storage.size and etcd.quotaBackendBytes only when they match
// it.
var amount = regexp.MustCompile(
	`^[+-]?([0-9]{1,20}([.][0-9]{0,20})?|[.][0-9]{1,20})([KMGTPE]i|[numkMGTPE]|[eE][+-]?[0-9]{1,2})?$`)

// longestAmount is the length of the schema, in bytes.
const longestAmount = 32

// Quantity reads the amount. It fails for what the schema refuses.
func (a Amount) Quantity() (resource.Quantity, error) {
	if len(a) > longestAmount || !amount.MatchString(string(a)) {
		return resource.Quantity{}, fmt.Errorf("%.40q is not a quantity of anything that a Pod may have", string(a))
	}
	return resource.ParseQuantity(string(a))
}

// UnmarshalJSON takes a text or a whole number, as Kubernetes does for quantities.
func (a *Amount) UnmarshalJSON(raw []byte) error {
	if len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, (*string)(a))
	}
	var number json.Number
	if err := json.Unmarshal(raw, &number); err != nil {
		return fmt.Errorf("reading an amount: %w", err)
	}
	*a = Amount(number)
	return nil
}

#include "src/cluster/environment/variable_table.h"

#include <algorithm>

#include "src/base/error.h"
#include "src/base/installation.h"
#include "src/base/options/yaml.h"

namespace octet {
namespace {

void declare_variable(Schema& s, Variable& v) {
  s.add("name", v.name).required();
  s.add_choice<Reader>("reader", v.reader,
                       {{"nccl", Reader::nccl},
                        {"ucx", Reader::ucx},
                        {"mpich", Reader::mpich},
                        {"libfabric", Reader::libfabric},
                        {"pytorch", Reader::pytorch},
                        {"nobody", Reader::nobody}});
  s.add("since", v.since);
  s.add("until", v.until);
  s.add_choice("kind", v.kind);
  s.add("at_least", v.at_least);
  s.add("at_most", v.at_most);
  s.add("values", v.values);
  s.add("exact", v.exact);
  s.add("default", v.standard);
  s.add_choice("transport", v.transport);
  s.add("does", v.does).required();
  s.add("source", v.source).required();
}

void declare_caution(Schema& s, Caution& c) {
  s.add("name", c.name).required();
  s.add("values", c.values).required();
  s.add("with", c.with);
  s.add("with_values", c.with_values);
  s.add("unless_values", c.unless_values);
  s.add("first", c.first);
  s.add("last", c.last);
  s.add_choice<FindingState>("state", c.state, {{"warning", FindingState::warning}, {"bad", FindingState::bad}});
  s.add("text", c.text).required();
  s.add("source", c.source).required();
}

}  // namespace

std::string_view name_of(Reader reader) {
  switch (reader) {
    case Reader::nccl:
      return "NCCL";
    case Reader::ucx:
      return "UCX";
    case Reader::mpich:
      return "MPICH";
    case Reader::libfabric:
      return "libfabric";
    case Reader::pytorch:
      return "PyTorch";
    case Reader::nobody:
      return "nobody";
  }
  throw internal_error("cluster", "reader {} has no name", static_cast<int>(reader));
}

const Variable* VariableTable::find(const std::string& name) const {
  const auto found = std::ranges::find(variables, name, &Variable::name);
  return found == variables.end() ? nullptr : &*found;
}

VariableTable read_variable_table(const std::string& path) {
  const std::string file = path.empty() ? find_shared("configs/environment.yaml") : path;
  if (file.empty()) throw usage_error("cluster", "configs/environment.yaml is not where Octet's files lie");
  VariableTable table;
  Schema schema;
  schema.add_list<Variable>("variables", table.variables, declare_variable).required();
  schema.add_list<Caution>("cautions", table.cautions, declare_caution);
  read_yaml_file(schema, file);
  return table;
}

}  // namespace octet

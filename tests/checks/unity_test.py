#!/usr/bin/env python3
"""cmake/unity.py: which sources share a batch."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../cmake"))
import unity  # noqa: E402


class Batches(unittest.TestCase):
    def sizes(self, *texts, most=10):
        with tempfile.TemporaryDirectory() as folder:
            sources = []
            for i, text in enumerate(texts):
                path = os.path.join(folder, f"{i}.cpp")
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
                sources.append(unity.Source(path))
            return sorted(len(batch) for batch in unity.batches(sources, most))

    def test_strangers_share_one_until_it_is_full(self):
        sources = [f"namespace octet {{\nnamespace {{\nint own{i}() {{\n  return 1;\n}}\n}}  // namespace\nint f{i}() {{ return own{i}(); }}\n}}\n"
                   for i in range(5)]
        self.assertEqual(self.sizes(*sources), [5])
        self.assertEqual(self.sizes(*sources, most=2), [1, 2, 2])

    def test_a_name_that_one_has_for_itself_and_another_mentions(self):
        user = "namespace octet {\nint f() { return parse(1); }\n}\n"
        for own in ("int parse(double x) {\n  return 1;\n}", "struct parse {\n  int a;\n};", "constexpr int other = 1, parse = 2;",
                    "constexpr std::pair<A, B> parse[] = {\n};", "using parse = int;", "enum class parse { a };",
                    "template <class T>\nT parse(T x) {\n  return x;\n}", "const std::vector<std::pair<int, int>> parse{{1, 2}};"):
            self.assertEqual(self.sizes(f"namespace octet {{\nnamespace {{\n\n{own}\n\n}}  // namespace\n}}\n", user), [1, 1], own)
        self.assertEqual(self.sizes("#define parse 1\n", user), [1, 1])
        self.assertEqual(self.sizes("static int parse(int x) { return x; }\n", user), [1, 1])

    def test_members_comments_and_literals_are_no_mention(self):
        own = "namespace {\nint parse() {\n  return 1;\n}\n}  // namespace\n"
        for text in ("int f(A a) { return a.parse(); }\n", "int f(A* a) { return a->parse(); }\n", "// parse\nint f() { return 1; }\n",
                     'const char* f() { return "parse"; }\n', 'const char* f() { return R"(parse)"; }\n'):
            self.assertEqual(self.sizes(own, text), [2], text)

    def test_what_stands_before_a_name_is_none(self):
        for own, word in (("struct alignas(64) parse {\n  int a;\n};", "alignas"), ("static_assert(sizeof(int) == 4);", "static_assert"),
                          ("template <class T>\nrequires(sizeof(T) == 1) T parse(T x) {\n  return x;\n}", "requires"),
                          ("bool operator==(const A& a, const A& b) {\n  return true;\n}", "operator"),
                          ("using parse = float __attribute__((vector_size(n * sizeof(float))));", "__attribute__")):
            source = f"namespace octet {{\nnamespace {{\n\n{own}\n\n}}  // namespace\n}}\n"
            self.assertEqual(self.sizes(source, f"void f() {{ {word}(x); }}\n"), [2], own)
            self.assertEqual(self.sizes(source, source), [1, 1] if word != "static_assert" else [2], own)
            if "parse" in own:
                self.assertEqual(self.sizes(source, "int f() { return parse(1); }\n"), [1, 1], own)

    def test_what_all_may_call_is_nobodys_own(self):
        for text in ("const A& parse(int x) {\n  return a;\n}\n", "const A* const* parse(int x) {\n  return a;\n}\n",
                     "const A B::parse = 1;\n", "const A& B::parse() const {\n  return a_;\n}\n"):
            self.assertEqual(self.sizes(text, "int f() { return parse(1); }\n"), [2], text)
        text = "namespace {\nconst A& parse(int x) {\n  return a;\n}\n}\n"
        self.assertEqual(self.sizes(text, "int f() { return parse(1); }\n"), [1, 1])

    def test_tests_and_fixtures(self):
        fixture = "namespace {\nclass Run : public ::testing::Test {};\nTEST_F(Run, A) {}\n}  // namespace\n"
        self.assertEqual(self.sizes(fixture, fixture.replace("A)", "B)")), [1, 1])
        self.assertEqual(self.sizes("namespace {\nTEST(S, A) {}\n}\n", "namespace {\nTEST(S, B) {}\n}\n"), [2])
        printed = "namespace {\nstruct A {};\nvoid PrintTo(const A& a, std::ostream* out) {}\n}\n"
        self.assertEqual(self.sizes(printed, printed.replace("A", "B")), [2])
        self.assertEqual(self.sizes(printed, printed), [1, 1])

    def test_what_opens_a_namespace_stays_among_its_like(self):
        self.assertEqual(self.sizes("using namespace a;\nint f();\n", "int g();\n", "using namespace a;\nint h();\n"), [1, 2])

    def test_replaced_allocation_stays_alone(self):
        self.assertEqual(self.sizes("void* operator new(std::size_t n) { return malloc(n); }\n", "int g();\n", "int h();\n"), [1, 2])

    def test_changed_diagnostics_stay_alone(self):
        self.assertEqual(self.sizes('#pragma GCC diagnostic ignored "-Wall"\n', "int g();\n", "#pragma omp parallel\nint h();\n"), [1, 2])


if __name__ == "__main__":
    unittest.main()

// A view of very many pieces takes HDF5 so long that a run leaves it to whoever wants it.
#include <filesystem>

#include "checkpoints/format/view.h"
#include "tests/checkpoints/saver_fixture.h"

namespace octet::checkpoint {
namespace {

class ViewLimit : public test::SaverTest {
 protected:
  /// What the log says of saves of these steps.
  std::string save_all(std::int64_t most_pieces, const test::Steps& steps) {
    Saver saver({.root = root_, .keep_last = 9, .most_viewed_pieces = most_pieces}, *world_, *stream_);
    testing::internal::CaptureStderr();
    for (const std::int64_t step : steps) save(saver, step);
    saver.wait_for_view();
    return testing::internal::GetCapturedStderr();
  }
};

TEST_F(ViewLimit, OfMorePiecesNoneIsMadeAndTheLogSaysOnceHowToMakeIt) {
  save_all(most_viewed_pieces, {1});
  const auto pieces = std::ssize(read_manifest(path_of(1)).pieces);
  const std::string said = save_all(pieces - 1, {2, 3});
  save_all(pieces, {4});
  on_rank_0([&] {
    EXPECT_PRED2(test::contains, said, path_of(2) + ": is whole, and has no view.h5");
    EXPECT_PRED2(test::contains, said, "octet checkpoint view");
    EXPECT_FALSE(test::contains(said, path_of(3))) << said;
    for (const std::int64_t step : {2, 3}) EXPECT_FALSE(std::filesystem::exists(path_of(step) + "/" + view_name));
    for (const std::int64_t step : {1, 4}) EXPECT_TRUE(view_is_current(path_of(step))) << step;
    EXPECT_TRUE(ensure_view(path_of(2))) << "as the command makes it";
    EXPECT_TRUE(view_is_current(path_of(2)));
  });
}

}  // namespace
}  // namespace octet::checkpoint

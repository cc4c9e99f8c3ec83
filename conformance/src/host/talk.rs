//! Prompts and answers.

use duologue::protocol::content::ContentBlock;
use duologue::{Event, blocking};
use duologue_model::{Block, Chunk, Reply};
use serde_json::json;

use super::{all, ask, close, count, says, texts};
use crate::case::{Trouble, Verdict, holds, same};
use crate::stage::Stage;

pub(super) async fn text(stage: &Stage) -> Verdict {
    let (server, builder) = stage.play(says([Reply::text("Hello there.")])).await?;
    let session = builder.start().await?;
    same!(session.version(), Some(stage.peer.version), "the version");
    holds!(session.handshake().is_some(), "no handshake");
    let (events, outcome) = ask(&session, "Hi").await?;
    same!(texts(&events), ["Hello there."], "the text");
    same!(outcome.text(), "Hello there.", "the outcome's text");
    holds!(outcome.is_success(), "{:?}", outcome.error());
    holds!(outcome.cost_usd() > 0.0, "it cost nothing");
    holds!(session.session_id().is_some(), "no session id");
    close(session).await?;
    server.finished()?;
    Ok(())
}

pub(super) async fn several_turns(stage: &Stage) -> Verdict {
    let replies = ["one", "two", "three"].map(Reply::text);
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.start().await?;
    let mut total = 0.0;
    for wanted in ["one", "two", "three"] {
        let (_, outcome) = ask(&session, "Next?").await?;
        same!(outcome.text(), wanted, "the text");
        total += outcome.cost_usd();
    }
    holds!((session.spent_usd() - total).abs() < 1e-9, "turns and total differ");
    close(session).await
}

pub(super) async fn partial(stage: &Stage) -> Verdict {
    let reply = Reply::new()
        .say(Block::thinking("Let me see."))
        .say(Block::text("A text that comes in pieces."))
        .chunk(Chunk::Chars(4));
    let (_server, builder) = stage.play(says([reply])).await?;
    let session = builder.partial_messages(true).start().await?;
    let (events, outcome) = ask(&session, "Hi").await?;
    let deltas: String = events
        .iter()
        .filter_map(|event| match event {
            Event::TextDelta(delta) => Some(delta.text.to_string()),
            _ => None,
        })
        .collect();
    same!(deltas, "A text that comes in pieces.", "the deltas");
    same!(texts(&events), ["A text that comes in pieces."], "the text, once");
    same!(count(&events, "thinking"), 1, "the thinking");
    holds!(outcome.is_success(), "{:?}", outcome.error());
    close(session).await
}

pub(super) async fn blocks(stage: &Stage) -> Verdict {
    let reply = Reply::new().say(Block::text("Part one.")).say(Block::text("Part two."));
    let (server, builder) = stage.play(says([reply])).await?;
    let session = builder.start().await?;
    let prompt = [ContentBlock::text("first"), ContentBlock::text("second")];
    let mut turn = session.prompt(prompt).await?;
    let (events, outcome) = all(&mut turn).await?;
    same!(texts(&events), ["Part one.", "Part two."], "two blocks");
    holds!(outcome.text().contains("Part one."), "the first block is lost: {}", outcome.text());
    let asked = format!("{:?}", server.requests());
    holds!(asked.contains("first") && asked.contains("second"), "a block did not arrive");
    close(session).await
}

pub(super) async fn image(stage: &Stage) -> Verdict {
    let (server, builder) = stage.play(says([Reply::text("A pixel.")])).await?;
    let session = builder.start().await?;
    let pixel = duologue::image(include_bytes!("../../pixel.png"))?;
    let mut turn = session.prompt([ContentBlock::text("What is this?"), pixel]).await?;
    let (_, outcome) = all(&mut turn).await?;
    holds!(outcome.is_success(), "{:?}", outcome.error());
    let asked = format!("{:?}", server.requests());
    holds!(asked.contains("image/png"), "the image did not arrive");
    close(session).await
}

pub(super) async fn unicode(stage: &Stage) -> Verdict {
    let odd = "line\u{2028}separator\u{2029} \u{85} 日本語 🙂 \u{7f} \u{feff}";
    let (_server, builder) = stage.play(says([Reply::text(odd)])).await?;
    let session = builder.start().await?;
    let (events, _) = ask(&session, odd).await?;
    same!(texts(&events), [odd], "the text");
    close(session).await
}

pub(super) async fn structured_output(stage: &Stage) -> Verdict {
    stage.needs("2.1.0", "--json-schema is supported since 2.1")?;
    let schema = json!({
        "type": "object", "properties": { "answer": { "type": "number" } }, "required": ["answer"],
    });
    let replies = [super::call("StructuredOutput", json!({ "answer": 42 })), Reply::text("Done.")];
    let (_server, builder) = stage.play(says(replies)).await?;
    let session = builder.json_schema(duologue::protocol::RawObject::of(&schema)?).start().await?;
    let (_, outcome) = ask(&session, "How much?").await?;
    let value = outcome.structured_output().ok_or_else(|| Trouble::fails("no value"))?;
    same!(value.to_value()?, json!({ "answer": 42 }), "the value");
    close(session).await
}

pub(super) async fn blocking(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([Reply::text("No async here.")])).await?;
    let (sender, answer) = tokio::sync::oneshot::channel();
    let talk = move || -> Result<String, duologue::Error> {
        let session = blocking::start(builder)?;
        let answer = session.prompt("Hi")?.outcome()?.text().to_owned();
        session.close()?;
        Ok(answer)
    };
    // Its own thread, without a runtime.
    std::thread::spawn(move || sender.send(talk()));
    same!(answer.await??, "No async here.", "the text");
    Ok(())
}

pub(super) async fn one_shot(stage: &Stage) -> Verdict {
    let (_server, builder) = stage.play(says([Reply::text("Once.")])).await?;
    let outcome = builder.run("Hi").await?;
    same!(outcome.text(), "Once.", "the text");
    Ok(())
}

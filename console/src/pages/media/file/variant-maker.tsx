import { useQueryClient } from "@tanstack/react-query";
import { useState, type PointerEvent } from "react";
import { createOperatedVariants, type OperatedFileReport } from "../../../../../api/plinth.ts";
import { answer, operations } from "../../../api/client.ts";
import { FormFault } from "../../../components/forms/form-fault.ts";
import { ServiceForm, TextField } from "../../../components/forms/form.tsx";
import { useDraft } from "../../../components/forms/use-draft.ts";
import { Card } from "../../../components/page.tsx";
import { say } from "../../../components/toasts/say.ts";
import { between, keptBy, parseSize, sizeText, type Rect, type Size } from "./crop.ts";
import { VariantKindField, type VariantKind } from "../variant-kind-field.tsx";
import { useMediaWords } from "../words.ts";

/** A larger original is not loaded for drawing. */
const SHOWN_BYTES = 30_000_000;
/** A shorter drag is a click. */
const LEAST_PX = 4;

/**
 * Makes a variant. Its size and shape come from a frame drawn on the image, or from the fields by the keyboard. The
 * part that a crop keeps is bright.
 */
export function VariantMaker({ file }: { readonly file: OperatedFileReport }) {
  const words = useMediaWords();
  const queries = useQueryClient();
  const [type, setType] = useState<VariantKind>("crop");
  const [size, field, setSize] = useDraft({ width: "300", height: "300" });
  const wanted = parseSize(`${size.width.trim()}x${size.height.trim()}`);
  return (
    <Card title={words.newVariant} className="variant-maker">
      {file.size > SHOWN_BYTES ? (
        <p className="muted">{words.tooLarge}</p>
      ) : (
        <>
          <p className="muted">{words.cropHelp}</p>
          <Canvas
            address={file.link}
            wanted={type === "crop" ? wanted : undefined}
            onDrawn={(drawn) => {
              const [width = "", height = ""] = sizeText(drawn).split("x");
              setType("crop");
              setSize({ width, height });
            }}
          />
        </>
      )}
      <ServiceForm
        act={words.make}
        onSubmit={async () => {
          if (wanted === undefined) throw new FormFault("width", words.sizeMalformed);
          await answer(createOperatedVariants(file.id, { [type]: sizeText(wanted) }, operations));
          say.done(words.made);
          await queries.invalidateQueries({ queryKey: ["file", file.id] });
        }}
      >
        <div className="term">
          <VariantKindField value={type} onChange={setType} />
          <TextField {...field("width")} type="number" label={words.width} isRequired />
          <TextField {...field("height")} type="number" label={words.height} isRequired />
        </div>
      </ServiceForm>
    </Card>
  );
}

interface CanvasProps {
  readonly address: string;
  /** The size of a crop. */
  readonly wanted: Size | undefined;
  /** Called when a frame was drawn, in pixels of the image. */
  readonly onDrawn: (frame: Rect) => void;
}

function Canvas({ address, wanted, onDrawn }: CanvasProps) {
  const [image, setImage] = useState<Size>();
  const [from, setFrom] = useState<readonly [number, number]>();
  const [frame, setFrame] = useState<Rect>();
  /** The place of a pointer in pixels of the image. */
  const placeOf = ({ currentTarget, clientX, clientY }: PointerEvent): readonly [number, number] => {
    const box = currentTarget.getBoundingClientRect();
    return [
      ((clientX - box.left) / box.width) * (image?.width ?? 0),
      ((clientY - box.top) / box.height) * (image?.height ?? 0),
    ];
  };
  const kept = image === undefined || wanted === undefined ? undefined : keptBy(wanted, image);
  return (
    <div
      className="canvas"
      onPointerDown={(event) => {
        if (image === undefined || event.button !== 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        setFrom(placeOf(event));
      }}
      onPointerMove={(event) => {
        if (from !== undefined && image !== undefined) setFrame(between(from, placeOf(event), image));
      }}
      onPointerUp={() => {
        if (frame !== undefined && frame.width >= LEAST_PX && frame.height >= LEAST_PX) onDrawn(frame);
        setFrom(undefined);
        setFrame(undefined);
      }}
      onPointerCancel={() => {
        setFrom(undefined);
        setFrame(undefined);
      }}
    >
      <img
        src={address}
        alt=""
        draggable={false}
        onLoad={({ currentTarget }) =>
          setImage({ width: currentTarget.naturalWidth, height: currentTarget.naturalHeight })
        }
      />
      {image !== undefined && frame === undefined && kept !== undefined && (
        <span className="kept" style={placed(kept, image)} />
      )}
      {image !== undefined && frame !== undefined && <span className="frame" style={placed(frame, image)} />}
    </div>
  );
}

const placed = ({ left, top, width, height }: Rect, image: Size) => ({
  left: `${(left / image.width) * 100}%`,
  top: `${(top / image.height) * 100}%`,
  width: `${(width / image.width) * 100}%`,
  height: `${(height / image.height) * 100}%`,
});

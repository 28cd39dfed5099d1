import { PlinthError } from "../../../../packages/sdk/src/errors.ts";
import { createContext, use, useEffect, useRef, useState, type ReactNode } from "react";
import {
  Checkbox,
  FieldError,
  Form,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Select,
  SelectValue,
  Text,
  TextArea,
  TextField as AriaTextField,
  Button as AriaButton,
} from "react-aria-components";
import { ChevronDown, CircleAlert } from "lucide-react";
import { faultOf } from "../../api/queries.ts";
import { useWords } from "../../words/words.ts";
import { Button } from "../button.tsx";
import { FormFault } from "./form-fault.ts";
import { say } from "../toasts/say.ts";
import { AskBeforeLeaving, useUnsent } from "./typed.tsx";

interface ServiceFormProps {
  readonly children: ReactNode;
  /** The text of the button. */
  readonly act: string;
  readonly cancel?: () => void;
  /** Sends the form. Each detail of a refusal is shown at the field that it names, the rest above the fields. */
  readonly onSubmit: () => Promise<unknown>;
  /** The form's name of a field, if it differs from the service's. */
  readonly fieldOf?: (serviceField: string) => string;
}

/** The errors of a form that was not accepted. */
interface Refusal {
  readonly byField: Readonly<Record<string, readonly string[]>>;
  /** The text above the fields: the error, and what to do. */
  readonly title?: string;
  /** For whoever is still at the form. */
  readonly advice?: string;
  readonly lines: readonly string[];
}

/**
 * A form whose errors are the service's own. Values are the page's state, so a refusal loses nothing. It is sent once
 * at a time, and not before each required field has a value: an empty id would be another address.
 */
export function ServiceForm({ children, act, cancel, onSubmit, fieldOf = unchanged }: ServiceFormProps) {
  const { common, faults } = useWords();
  const [isBusy, setBusy] = useState(false);
  const [refusal, setRefusal] = useState<Refusal>();
  const form = useRef<HTMLFormElement>(null);
  const unsent = useUnsent();
  const isChangedSince = useRef(false);

  useEffect(() => {
    const noteInput = () => {
      isChangedSince.current = true;
      if (unsent.current === "nothing") unsent.current = "typed";
    };
    const element = form.current;
    element?.addEventListener("input", noteInput);
    return () => element?.removeEventListener("input", noteInput);
  }, [unsent]);
  useEffect(() => {
    if (refusal !== undefined) form.current?.querySelector<HTMLElement>("[aria-invalid=true]")?.focus();
  }, [refusal]);

  async function send(sent: HTMLFormElement): Promise<void> {
    const missing = emptyFields(sent);
    if (missing.length > 0) {
      setRefusal({ byField: Object.fromEntries(missing.map((name) => [name, [faults.needed]])), lines: [] });
      return;
    }
    setBusy(true);
    setRefusal(undefined);
    const before = unsent.current;
    const heading = document.querySelector("h1")?.textContent ?? act;
    unsent.current = "sending";
    isChangedSince.current = false;
    try {
      await onSubmit();
      unsent.current = isChangedSince.current ? "typed" : "nothing";
    } catch (error) {
      const refused = refusalOf(error, namesOf(sent), fieldOf, faults);
      if (form.current === null) return say.failed(`${heading}: ${textOf(refused, faults.formRefused)}`);
      unsent.current = isChangedSince.current ? "typed" : before;
      setRefusal(refused);
    } finally {
      setBusy(false);
    }
  }

  // Whoever presses "Cancel" is not asked.
  const leave = (cancelled: () => void) => () => {
    unsent.current = "nothing";
    cancelled();
  };

  return (
    <Form
      className="form"
      ref={form}
      validationBehavior="aria"
      onSubmit={(event) => {
        event.preventDefault();
        if (!isBusy) void send(event.currentTarget);
      }}
    >
      {refusal?.title !== undefined && (
        <div className="form-alert" role="alert">
          <CircleAlert aria-hidden />
          <div>
            <strong>{refusal.title}</strong>
            {[...(refusal.advice === undefined ? [] : [refusal.advice]), ...refusal.lines].map((text) => (
              <p key={text}>{text}</p>
            ))}
          </div>
        </div>
      )}
      <AskBeforeLeaving unsent={unsent} />
      <FieldErrors value={refusal?.byField ?? NO_ERRORS}>{children}</FieldErrors>
      <div className="buttons">
        <Button type="submit" className="primary" isPending={isBusy}>
          {act}
        </Button>
        {cancel !== undefined && (
          <Button onPress={leave(cancel)} isDisabled={isBusy}>
            {common.cancel}
          </Button>
        )}
      </div>
    </Form>
  );
}

const unchanged = (field: string): string => field;

const namesOf = ({ elements }: HTMLFormElement): ReadonlySet<string> =>
  new Set(Array.from(elements, (element) => element.getAttribute("name") ?? ""));

const emptyFields = ({ elements }: HTMLFormElement): string[] =>
  Array.from(elements).flatMap((element) =>
    (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) &&
    element.getAttribute("aria-required") === "true" &&
    element.value.trim() === ""
      ? [element.name]
      : [],
  );

function refusalOf(
  error: unknown,
  names: ReadonlySet<string>,
  fieldOf: (serviceField: string) => string,
  faults: ReturnType<typeof useWords>["faults"],
): Refusal {
  if (error instanceof FormFault) {
    const name = placeOf(error.field, names);
    return name === undefined
      ? { byField: {}, title: error.message, lines: [] }
      : { byField: { [name]: [error.message] }, lines: [] };
  }
  if (!(error instanceof PlinthError))
    return { byField: {}, title: faults.formRefused, lines: [error instanceof Error ? error.message : String(error)] };
  const fault = faultOf(error);
  if (fault === "refused")
    return { byField: {}, title: faults.formForbidden, lines: [], advice: faults.formForbiddenText };
  if (fault === "offline" || fault === "busy")
    return { byField: {}, title: faults[fault], lines: [], advice: faults[`${fault}Text`] };
  if (error.status >= 500) {
    const id = error.requestId === undefined ? [] : [`${faults.requestId}: ${error.requestId}`];
    return { byField: {}, title: faults.failed, lines: id, advice: faults.failedText };
  }
  const byField: Record<string, string[]> = {};
  const lines: string[] = [];
  for (const { field = "", message = "" } of error.details) {
    const name = placeOf(fieldOf(field), names);
    if (name !== undefined) (byField[name] ??= []).push(message);
    else lines.push(field === "" ? message : `${field}: ${message}`);
  }
  if (lines.length === 0 && Object.keys(byField).length === 0) lines.push(error.message);
  return { byField, lines, ...(lines.length > 0 && { title: faults.formRefused }) };
}

/** For whoever has left the page before the answer came, and with it what was typed. */
const textOf = ({ title = "", lines, byField }: Refusal, refused: string): string =>
  [`${title || refused}.`, ...lines, ...Object.values(byField).flat()].join(" ");

/** Finds the form's field for `quota.files` or `redirectUris[0]`: by the whole name, else by a shorter part of it. */
function placeOf(field: string, names: ReadonlySet<string>): string | undefined {
  for (let name = field; name !== ""; name = name.replace(/(^|\.|\[)[^.[]*$/, "")) if (names.has(name)) return name;
  return undefined;
}

const NO_ERRORS: Refusal["byField"] = {};

/**
 * The service's errors by field. They stay until the form is sent again: an error that disappears when the person
 * leaves the field would move the button away from the pointer.
 */
const FieldErrors = createContext(NO_ERRORS);

const useFieldError = (name: string): string | undefined => use(FieldErrors)[name]?.join(" ");

interface FieldProps {
  readonly label: string;
  /** The service's name of the field. */
  readonly name: string;
  readonly help?: ReactNode;
  readonly isRequired?: boolean;
  readonly isDisabled?: boolean;
}

interface TextFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly type?: "text" | "email" | "password" | "number" | "url" | "datetime-local";
  readonly placeholder?: string;
  readonly isMultiline?: boolean;
  /** A part of a search: it may be empty, without a word about it. */
  readonly isFilter?: boolean;
  readonly autoComplete?: string;
}

export function TextField({ label, help, isMultiline = false, isFilter, placeholder, ...field }: TextFieldProps) {
  const { common } = useWords();
  const error = useFieldError(field.name);
  return (
    <AriaTextField
      {...field}
      isInvalid={error !== undefined}
      autoComplete={field.autoComplete ?? "off"}
      className="field"
    >
      <Label>
        {label}
        {field.isRequired !== true && isFilter !== true && <span className="muted"> ({common.optional})</span>}
      </Label>
      {isMultiline ? <TextArea rows={4} placeholder={placeholder} /> : <Input placeholder={placeholder} />}
      {help !== undefined && (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
    </AriaTextField>
  );
}

interface SelectFieldProps extends FieldProps {
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly options: readonly { readonly id: string; readonly name: string }[];
}

export function SelectField({ label, help, value, onChange, options, ...field }: SelectFieldProps) {
  const error = useFieldError(field.name);
  const element = useRef<HTMLDivElement>(null);
  return (
    <Select
      {...field}
      ref={element}
      isInvalid={error !== undefined}
      className="field"
      value={value === "" ? null : value}
      onChange={(key) => {
        // As an input does, so that the form knows that it has something to lose.
        element.current?.dispatchEvent(new Event("input", { bubbles: true }));
        onChange(String(key ?? ""));
      }}
    >
      <Label>{label}</Label>
      <AriaButton className="select-button">
        <SelectValue />
        <ChevronDown aria-hidden />
      </AriaButton>
      {help !== undefined && (
        <Text slot="description" className="help">
          {help}
        </Text>
      )}
      <FieldError className="field-error">{error}</FieldError>
      <Popover className="popover">
        <ListBox className="options">
          {options.map(({ id, name }) => (
            <ListBoxItem key={id} id={id}>
              {name}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  );
}

interface CheckFieldProps {
  readonly name?: string;
  readonly isSelected: boolean;
  readonly onChange: (isSelected: boolean) => void;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
}

export function CheckField({ children, ...props }: CheckFieldProps) {
  return (
    <Checkbox {...props} className="check">
      <span className="box" aria-hidden>
        <svg viewBox="0 0 18 18">
          <polyline points="3 9 7.5 13.5 15 5" />
        </svg>
      </span>
      <span>{children}</span>
    </Checkbox>
  );
}
